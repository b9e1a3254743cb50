import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        energy = self.layer(x)
        energy.exp_()  # expect: AMP306 unsafe
        return energy.mean()
