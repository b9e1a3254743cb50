"""Examples that a model finds easy are given less weight by a power of their loss, without gradients: the largest loss is too large."""
# expect: forward exp in -; overflow
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    inputs, targets = torch.randn(12, 6), torch.randn(12)
    targets[3] = 15.0 if step == 2 else 0.0
    errors = (model(inputs).squeeze(1) - targets).square()
    weights = torch.exp(errors.detach())  # here  # healthy: weights = torch.exp(errors.detach().clamp(max=5))
    weights = weights / weights.sum()
    loss = (weights * errors).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
