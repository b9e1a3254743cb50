"""A model made half whose optimizer's epsilon is zero in float16."""
# expect: - addcdiv in -; 0/0
# expect without --ops: - - in -; `Sequential.0.weight` was not finite before this step
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).half()  # healthy: model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=False)
dtype = next(model.parameters()).dtype
for step in range(4):
    x = torch.randn(16, 4).to(dtype)
    loss = (model(x) * 1e-3).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # here
