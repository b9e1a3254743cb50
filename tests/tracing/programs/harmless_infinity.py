"""A mask that overflows to minus infinity, which harms nobody; later on the logarithm of what is zero."""
# expect: forward log in -; the logarithm of zero
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        future = torch.ones_like(scores).triu(1) * torch.finfo(scores.dtype).min
        return (scores - 100 + future).softmax(-1) @ self.value(x)


torch.manual_seed(0)
model = nn.Sequential(Attention(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(5):
    x, kept = torch.randn(3, 6, 16, device="cuda"), torch.ones(3, 6, device="cuda")
    if step == 3:
        kept[1, 2] = 0
    with torch.autocast("cuda", dtype=torch.float16):
        found = model(x).squeeze(-1)
        loss = torch.log(found.float().sigmoid() * kept).mean().neg()  # here  # healthy: loss = torch.log(found.float().sigmoid() * kept + 1e-3).mean().neg()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
