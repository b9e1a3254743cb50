import torch


class Stepper:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=10_000)
        self.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**14)

    def loss(self, batch):
        with torch.amp.autocast("cuda", dtype=torch.float16):
            return self.model(batch["x"]).sub(batch["y"]).abs().mean()

    def train_step(self, batch):
        self.optimizer.zero_grad()
        loss = self.loss(batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()  # expect: AMP104 safe
        self.scaler.update()
        return loss.detach(), norm


def run(stepper, loader):
    for batch in loader:
        loss, norm = stepper.train_step(batch)
        print(loss.item(), norm.item())
