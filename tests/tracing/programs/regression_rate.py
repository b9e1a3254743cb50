"""A regression with a learning rate under which the weights explode."""
# expect: forward mse_loss in -; overflow
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e12)  # healthy: optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(8):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
