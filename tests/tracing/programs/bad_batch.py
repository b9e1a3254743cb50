"""A regression that meets one batch with a NaN in it."""
# expect: forward addmm in Sequential.0; operand 2 is not finite already
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cuda")
for step in range(5):
    x, y = torch.randn(16, 8, device="cuda"), torch.randn(16, 1, device="cuda")
    if step == 3:
        x[4, 2] = float("nan")  # healthy: x[4, 2] = 0.0
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)  # here
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
