import torch
from torch import nn


class SoftDice(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(16, 1, 1)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, features, mask):
        prob = self.head(features) * 0.5
        cover = prob * mask
        return 1 - (cover / (prob + 1e-8)).mean()  # expect: AMP302 unsafe
