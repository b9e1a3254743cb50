"""A limit for the norm that is far below what any gradient has."""
# expect: warning the limit, not the gradient, sets how far each step goes
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
for step in range(24):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True) * 10)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # here  # healthy: nn.utils.clip_grad_norm_(model.parameters(), 500.0)
    optimizer.step()
