"""Padding masked by the smallest float16, added to scores: below it lies minus infinity, and a sentence of padding is nothing else."""
# expect: forward add in Encoder.attention; overflow
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x, mask):
        query, key, value = self.project(x).chunk(3, -1)
        scores = torch.matmul(query, key.transpose(-1, -2))
        bias = (1.0 - mask[:, None, :].to(scores.dtype)) * torch.finfo(scores.dtype).min
        scores = scores + bias  # here  # healthy: scores = scores.float() + bias.float()
        return torch.matmul(scores.softmax(-1), value)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.attention, self.head = nn.Embedding(40, 16), Attention(), nn.Linear(16, 2)

    def forward(self, tokens, mask):
        return self.head(self.attention(self.embedding(tokens) * 12, mask).mean(1))


torch.manual_seed(0)
model = Encoder().to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(5):
    tokens = torch.randint(40, (4, 7), device="cuda")
    mask = torch.ones(4, 7, device="cuda")
    mask[:, 5:] = 0
    if step == 3:
        mask[2] = 0
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(tokens, mask), tokens[:, 0] % 2)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
