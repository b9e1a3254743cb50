"""A focal loss with a root in it: the slope of a root at zero is infinite, and a prediction is certain."""
# expect: backward pow in -; zero to the power of -0.5
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 6)
    certainty = torch.sigmoid(model(x) * (1e3 if step == 2 else 1.0))
    loss = ((1 - certainty) ** 0.5).mean()  # here  # healthy: loss = ((1 - certainty).clamp(min=1e-6) ** 0.5).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
