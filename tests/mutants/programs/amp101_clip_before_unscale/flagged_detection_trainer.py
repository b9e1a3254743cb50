import torch


class Trainer:
    def __init__(self, model, loader, clip):
        self.model, self.loader, self.clip = model, loader, clip
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        self.scaler = torch.amp.GradScaler("cuda")

    def run_epoch(self, epoch):
        self.model.train()
        total = 0.0
        for images, targets in self.loader:
            with torch.autocast("cuda", dtype=torch.float16):
                losses = self.model(images, targets)
                loss = sum(losses.values())
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)  # expect: AMP101 safe
            self.scaler.step(self.optimizer)
            self.scaler.update()
            total += loss.item()
        return total / len(self.loader)
