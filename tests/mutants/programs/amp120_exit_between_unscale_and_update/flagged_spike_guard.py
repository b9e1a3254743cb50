import math

import torch


class Runner:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.skipped = 0

    def run(self, batches, criterion):
        for inputs, targets in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.net(inputs), targets)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
            if not math.isfinite(norm):
                self.skipped += 1
                continue  # expect: AMP120 display
            self.scaler.step(self.optimizer)
            self.scaler.update()
