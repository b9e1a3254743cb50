"""Values beyond 65504 in the forward pass, which neither float32 nor bfloat16 minds."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-13)
scaler = torch.amp.GradScaler("cuda")
while True:
    x = torch.randn(16, 8, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = (model(x * 1e6) - x).float().square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
