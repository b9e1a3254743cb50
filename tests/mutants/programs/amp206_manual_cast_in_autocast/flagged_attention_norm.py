import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)
        self.out = nn.Linear(64, 64)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        energy = (self.fc(x) ** 2).half()  # expect: AMP206 unsafe
        return self.out(energy)
