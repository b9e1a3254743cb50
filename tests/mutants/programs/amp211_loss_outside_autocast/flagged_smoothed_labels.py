import torch
from torch import nn
import torch.nn.functional as F


def train(loader, steps):
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(x)
        loss = F.cross_entropy(logits, y, label_smoothing=0.1)  # expect: AMP211 safe
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
