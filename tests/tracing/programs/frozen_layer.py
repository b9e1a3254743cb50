"""A frozen layer with a weight too large for float16: no step is taken, whatever the scale."""
# expect: forward _to_copy in Sequential.1; overflow: 7.498e+04
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)).cuda()
model[1].requires_grad_(False)
with torch.no_grad():
    model[1].weight.mul_(3e5)  # healthy: model[1].weight.mul_(3)
optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(8):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(4, 8, device="cuda")).float().square().mean()  # here
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
