import torch


class Trainer:
    def __init__(self, amp):
        self.amp = amp
        self.model_g = torch.nn.Linear(2, 1)
        self.optimizer_g = torch.optim.AdamW(self.model_g.parameters(), lr=0.01)
        self.model_d = torch.nn.Linear(2, 1)
        self.optimizer_d = torch.optim.AdamW(self.model_d.parameters(), lr=0.01)
        self.scaler_g = torch.amp.GradScaler("cpu", enabled=amp)
        self.scaler_d = torch.amp.GradScaler("cpu", enabled=amp)

    def fit(self, batches):
        for _, batch in enumerate(batches):
            for part in batch.chunk(2):
                with torch.autocast("cpu", dtype=torch.float16, enabled=self.amp):
                    loss_g = self.model_g(part).float().abs().mean()
                loss_g = loss_g / 2
                self.scaler_g.scale(loss_g).backward()
                with torch.autocast("cpu", dtype=torch.float16, enabled=self.amp):
                    loss_d = torch.nn.functional.l1_loss(self.model_d(part).float(), torch.ones(len(part), 1))
                loss_d = loss_d / 2
                self.scaler_d.scale(loss_d).backward()
                self.scaler_g.unscale_(self.optimizer_g)
                for parameter in self.model_g.parameters():
                    if parameter.grad is not None:
                        parameter.grad.clamp_(-0.1, 0.1)
                self.scaler_g.step(self.optimizer_g)
                self.optimizer_g.zero_grad()
                self.scaler_d.unscale_(self.optimizer_d)
                torch.nn.utils.clip_grad_value_(self.model_d.parameters(), 0.5)
                print(
                    sum(
                        parameter.grad.norm().item()
                        for parameter in self.model_d.parameters()
                        if parameter.grad is not None
                    )
                )
            self.scaler_d.step(self.optimizer_d)
            self.model_d.zero_grad(set_to_none=True)
            self.scaler_g.update()
            self.scaler_d.update()


def train(batches, amp):
    Trainer(amp).fit(batches)
