"""A running average of the largest activation, kept in a buffer: one infinity stays in it for ever."""
# expect: forward mul in Net.normalize; overflow
import torch
from torch import nn


class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.ones(()))

    def forward(self, x):
        with torch.no_grad():
            self.largest.mul_(0.9).add_(0.1 * (x * x).max().float())  # here  # healthy: self.largest.mul_(0.9).add_(0.1 * x.float().square().max())
        return x / (self.largest + 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.normalize, self.head = nn.Linear(6, 6), Normalize(), nn.Linear(6, 1)

    def forward(self, x):
        hidden = self.normalize(self.body(x))
        return self.head(hidden * self.normalize.largest)


torch.manual_seed(0)
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)
scaler = torch.amp.GradScaler("cuda", init_scale=16.0)
for step in range(6):
    x = torch.randn(8, 6, device="cuda") * (2000 if step == 2 else 1)
    with torch.autocast("cuda", dtype=torch.float16):
        out = model(x)
    loss = out.float().abs().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
