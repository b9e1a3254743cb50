"""A batch in every five overflows whatever the scale is, until the scale has sunk."""
# expect: warning below 1
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
for step in range(8):
    x = torch.randn(4, 8, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        predicted = model(x)
    loss = predicted.float().mean() * 1e6  # here  # healthy: loss = predicted.float().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
