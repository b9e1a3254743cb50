"""A loss so small that its gradients are zero in float16, and no scaler to keep them."""
# expect: warning are lost: float16 makes them zero
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", enabled=False)  # healthy: scaler = torch.amp.GradScaler("cuda")
for step in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        predicted = model(torch.randn(32, 8, device="cuda"))
    loss = predicted.float().mean() * 1e-7  # here
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
