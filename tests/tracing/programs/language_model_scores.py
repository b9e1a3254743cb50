"""A language model whose attention scores are not divided by the square root of the width."""
# expect: forward bmm in Transformer.attention; overflow
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gain = nn.Parameter(torch.tensor(64.0))

    def forward(self, x):
        query, key = self.query(x) * self.gain, self.key(x) * self.gain
        scores = query @ key.transpose(1, 2)  # here  # healthy: scores = (query / self.gain) @ key.transpose(1, 2) / self.gain
        return scores.softmax(-1) @ self.value(x)


class Transformer(nn.Module):
    def __init__(self, words=50, width=64):
        super().__init__()
        self.embedding, self.attention, self.head = nn.Embedding(words, width), Attention(width), nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.attention(self.embedding(tokens) * 8))


torch.manual_seed(0)
model = Transformer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
scaler = torch.amp.GradScaler("cuda")
for step in range(4):
    tokens = torch.randint(50, (4, 12), device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
