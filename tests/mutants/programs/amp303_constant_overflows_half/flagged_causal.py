import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) * 0.125
        scores = scores.masked_fill(mask == 0, -1e9)  # expect: AMP303 safe
        return torch.softmax(scores, dim=-1) @ self.v(x)
