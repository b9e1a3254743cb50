"""The checkpointer asks the trainer for its state: detectron2's simple trainer gives that of the optimizer, and of no scaler."""

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
        self.grad_scaler.step(self.optimizer)  # expect: AMP114 none
        self.grad_scaler.update()


def main(model, loader, optimizer, folder):
    trainer = MixedTrainer(model, loader, optimizer)
    DetectionCheckpointer(model, folder, trainer=trainer).resume_or_load("", resume=True)
    trainer.train(0, 10_000)
