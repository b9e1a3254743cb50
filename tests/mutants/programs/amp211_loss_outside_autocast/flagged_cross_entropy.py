import torch
from torch import nn


def train(loader, optimizer):
    net = nn.Linear(32, 10).cuda()
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = net(x)
        loss = nn.functional.cross_entropy(logits, y, label_smoothing=0.1)  # expect: AMP211 safe
        loss.backward()
        optimizer.step()
