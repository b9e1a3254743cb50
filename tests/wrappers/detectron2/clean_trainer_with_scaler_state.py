"""The checkpointer asks the trainer for its state: it adds that of its scaler to what the simple trainer gives."""

import torch
from detectron2.checkpoint import DetectionCheckpointer
from detectron2.engine import SimpleTrainer


class MixedTrainer(SimpleTrainer):
    def __init__(self, model, loader, optimizer):
        super().__init__(model, loader, optimizer)
        self.grad_scaler = torch.amp.GradScaler("cuda")

    def run_step(self):
        data = next(self._data_loader_iter)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = sum(self.model(data).values())
        self.optimizer.zero_grad()
        self.grad_scaler.scale(loss).backward()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()

    def state_dict(self):
        return {**super().state_dict(), "grad_scaler": self.grad_scaler.state_dict()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.grad_scaler.load_state_dict(state["grad_scaler"])


def main(model, loader, optimizer, folder):
    trainer = MixedTrainer(model, loader, optimizer)
    DetectionCheckpointer(model, folder, trainer=trainer).resume_or_load("", resume=True)
    trainer.train(0, 10_000)
