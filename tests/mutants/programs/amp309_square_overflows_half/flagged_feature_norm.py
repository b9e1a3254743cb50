import torch
from torch import nn


class Penalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(16, 16)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        z = self.proj(x)
        return (z * z).mean()  # expect: AMP309 unsafe
