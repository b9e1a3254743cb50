import torch
from torch import nn


class Presence(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.head = nn.Linear(dim, 1)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, h, present, weight):
        p = torch.sigmoid(self.head(h)).squeeze(-1)
        hit, miss = torch.log(p + 1e-8), torch.log(1 - p + 1e-8)  # expect: AMP302 unsafe, AMP302 unsafe
        return -(weight * (present * hit + (1 - present) * miss)).mean()
