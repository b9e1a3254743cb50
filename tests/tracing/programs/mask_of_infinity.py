"""Attention over a sentence of padding alone: a softmax over nothing but minus infinity."""
# expect: forward _softmax in Attention; operand 1 is infinite
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, padding):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(padding.unsqueeze(1), float("-inf"))
        return scores.softmax(-1) @ x  # here


torch.manual_seed(0)
model = Attention().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
for step in range(4):
    x, padding = torch.randn(2, 5, 8, device="cuda"), torch.zeros(2, 5, dtype=torch.bool)
    padding[:, 3:] = True
    padding[1] = step == 2  # healthy: padding[1, 2:] = True
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x, padding).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
