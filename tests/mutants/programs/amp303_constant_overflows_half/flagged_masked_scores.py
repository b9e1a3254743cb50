import math
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x, mask):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.heads, d // self.heads).transpose(1, 2)
        k = self.k(x).view(b, n, self.heads, d // self.heads).transpose(1, 2)
        v = self.v(x).view(b, n, self.heads, d // self.heads).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(d // self.heads)
        scores = scores.masked_fill(mask == 0, -1e9)  # expect: AMP303 safe
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, v).transpose(1, 2).reshape(b, n, d)
