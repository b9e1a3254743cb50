"""A schedule that advances on steps that the scaler has left out."""
# expect: AMP107
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda")
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=20)
for step in range(4):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(8, 4, device="cuda")).float().square().mean() * (1e4 if step == 0 else 1)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if True:  # healthy: if scaler.get_scale() >= before:
        scheduler.step()  # here
