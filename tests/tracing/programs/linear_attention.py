"""Linear attention in float16: keys that all are far below zero have features that vanish, and so does what is divided by."""
# expect: forward div in LinearAttention; 0/0 in float16
import torch
from torch import nn


class LinearAttention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x):
        query, key, value = self.project(x).chunk(3, -1)
        query, key = torch.relu(query), torch.relu(key)
        above = query @ (key.transpose(-1, -2) @ value)
        below = query @ key.sum(1).half()[..., None]
        return above / below  # here  # healthy: return above / (below + 1e-3)


torch.manual_seed(0)
model = LinearAttention().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
scaler = torch.amp.GradScaler("cuda", init_scale=128.0)
for step in range(4):
    x = torch.randn(2, 6, 16, device="cuda")
    if step == 2:
        x[1] = 0.0
        model.project.bias.data.fill_(-0.5)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
