import torch
from torch import nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, dim, tags):
        super().__init__()
        self.head = nn.Linear(dim, tags)

    def forward(self, x):
        return torch.sigmoid(self.head(x))


def train(model: Tagger, loader, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            probs = torch.sigmoid(model.head(x))
            loss = F.binary_cross_entropy(probs, y)  # expect: AMP304 safe
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
