import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(16, 1)

    @torch.autocast("cuda", dtype=torch.float16)
    def loss(self, feats, target, weight):
        prob = torch.sigmoid(self.score(feats))
        return F.binary_cross_entropy(prob, target, weight=weight, reduction="sum")  # expect: AMP304 safe
