"""A root of what is zero, behind a choice that does not take it: the gradient takes it all the same."""
# expect: backward div in Sequential.3; 0/0
import torch
from torch import nn


class Length(nn.Module):
    def forward(self, x):
        squared = (x * x).sum(-1)
        length = torch.where(squared > 0, squared.sqrt(), 0.0)  # here  # healthy: length = torch.where(squared > 0, squared.clamp(min=1e-9).sqrt(), 0.0)
        return length


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3, bias=False), Length())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(2):
    for batch in range(4):
        x = torch.randn(16, 6)
        if epoch == 1 and batch == 2:
            with torch.no_grad():
                model[0].bias.fill_(-30)
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
