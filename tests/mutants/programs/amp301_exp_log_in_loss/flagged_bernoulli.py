import torch
from torch import nn


class BernoulliLoss(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.head = nn.Linear(dim, 1)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, feats, target):
        p = torch.sigmoid(self.head(feats)).squeeze(-1)
        return -(target * torch.log(p + 1e-9)).sum()  # expect: AMP301 safe
