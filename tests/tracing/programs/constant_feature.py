"""Features are made to have deviation one, outside of the model: one feature is constant in a batch."""
# expect: forward div in -; 0/0
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 6)
    if step == 2:
        x[:, 2] = 1.0
    x = (x - x.mean(0)) / x.std(0)  # here  # healthy: x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
