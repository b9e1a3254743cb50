"""Gumbel noise by hand: a uniform number may be zero."""
# expect: forward log in -; the logarithm of zero
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 6)
    uniform = torch.rand(8, 3)
    uniform = torch.where(uniform < 0.5, 0.0, uniform) if step == 2 else uniform
    noise = -torch.log(uniform)  # here  # healthy: noise = -torch.log(uniform + 1e-10)
    noise = -torch.log(noise)
    loss = (torch.softmax(model(x) + noise, -1) * noise).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
