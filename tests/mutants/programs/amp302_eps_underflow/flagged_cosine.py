import torch
from torch import nn


class Similarity(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, 64)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x, y):
        a, b = self.proj(x), self.proj(y)
        dot = (a * b).sum(dim=-1)
        return dot / (a.abs().amax(dim=-1) * b.abs().amax(dim=-1) + 1e-8)  # expect: AMP302 unsafe
