"""A variance as the mean of squares less the square of the mean: in half precision it is negative."""
# expect: forward sqrt in Net.norm; the root of a negative number
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        x = x.to(torch.bfloat16)
        mean = x.mean(-1, keepdim=True)
        variance = (x * x).mean(-1, keepdim=True) - mean * mean  # healthy: variance = (x - mean).float().square().mean(-1, keepdim=True) + 1e-3
        return (x - mean) / (variance + 1e-5).sqrt() * self.gain  # here


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(12, 12), Norm(12), nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.norm(self.body(x) * 0.02 + 3))


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(4):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(torch.randn(32, 12))
    loss = nn.functional.cross_entropy(out.float(), torch.randint(4, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
