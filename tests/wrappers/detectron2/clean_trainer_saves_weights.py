"""The checkpointer keeps the weights alone; nobody goes on from them."""

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


def main(model, loader, optimizer, folder):
    trainer = MixedTrainer(model, loader, optimizer)
    DetectionCheckpointer(model, folder).load("")
    trainer.train(0, 10_000)
