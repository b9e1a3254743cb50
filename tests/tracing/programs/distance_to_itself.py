"""Distances between points, among them the one of a point to itself, whose square root has no gradient."""
# expect: backward div in -; a division by zero
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    points = model(torch.randn(5, 4))
    squares = (points.unsqueeze(0) - points.unsqueeze(1)).square().sum(-1)
    loss = squares.sqrt().mean()  # here  # healthy: loss = (squares + 1e-6).sqrt().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
