import torch
from torch import nn


class EnergyHead(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.project = nn.Linear(width, hidden)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, features):
        hidden = self.project(features)
        return (hidden * hidden).mean(dim=-1)  # expect: AMP309 unsafe
