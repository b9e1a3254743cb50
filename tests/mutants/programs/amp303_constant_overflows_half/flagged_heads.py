import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x, mask):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1)) * self.scale
        att = att.masked_fill(mask[:, None, None, :] == 0, -1e9)  # expect: AMP303 safe
        att = att.softmax(dim=-1)
        return (att @ v).transpose(1, 2).reshape(b, n, c)
