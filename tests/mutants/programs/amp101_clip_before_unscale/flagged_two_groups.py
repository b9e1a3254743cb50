import torch
from torch import nn


class Trainer:
    def __init__(self, backbone, head, accum):
        self.backbone, self.head, self.accum = backbone, head, accum
        self.params = [*backbone.parameters(), *head.parameters()]
        self.optim = torch.optim.AdamW(self.params, lr=1e-3)
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, loader, criterion):
        self.optim.zero_grad()
        for step, (x, y) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.head(self.backbone(x)), y) / self.accum
            self.scaler.scale(loss).backward()
            if (step + 1) % self.accum == 0:
                nn.utils.clip_grad_norm_(self.params, 0.5)  # expect: AMP101 safe
                self.scaler.step(self.optim)
                self.scaler.update()
                self.optim.zero_grad()
