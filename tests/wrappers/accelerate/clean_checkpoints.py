import torch
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, amp=True):
        self.accelerator = Accelerator(split_batches=True, mixed_precision="fp16" if amp else "no")
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-4)
        self.model, self.opt = self.accelerator.prepare(model, self.opt)

    def train(self, batch):
        self.accelerator.backward(self.model(batch))
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad()

    def save(self, path):
        scaler = self.accelerator.scaler
        data = {"model": self.accelerator.get_state_dict(self.model), "opt": self.opt.state_dict()}
        data["scaler"] = scaler.state_dict() if scaler is not None else None
        torch.save(data, path)

    def load(self, path):
        data = torch.load(path, weights_only=True)
        self.opt.load_state_dict(data["opt"])
        if self.accelerator.scaler is not None and data["scaler"] is not None:
            self.accelerator.scaler.load_state_dict(data["scaler"])


class Saver(Trainer):
    def save(self, path):
        self.accelerator.save_state(path)


def finish(model, optimizer, loader, folder):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for batch in loader:
        accelerator.backward(model(batch))
        optimizer.step()
    accelerator.save_state(folder)
    torch.save({"optimizer": optimizer.state_dict(), "model": model.state_dict()}, f"{folder}/both.pt")


def weights_only(model, optimizer, loader, path):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for batch in loader:
        accelerator.backward(model(batch))
        optimizer.step()
    torch.save(accelerator.unwrap_model(model).state_dict(), path)
