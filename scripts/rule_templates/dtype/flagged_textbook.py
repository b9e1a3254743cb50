import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        h = self.linear(x)
        return torch.sin(h)  # expect: AMP000 none
