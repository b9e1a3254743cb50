"""The schedule was not prepared with its optimizer, both of which the object keeps."""

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import OneCycleLR


class Trainer:
    def __init__(self, generator, loader, accelerator):
        self.accelerator = accelerator
        self.optimizer = torch.optim.Adam(generator.parameters(), 1e-4)
        self.schedule = OneCycleLR(self.optimizer, max_lr=2e-4, total_steps=1000)
        self.generator, self.optimizer, self.loader = accelerator.prepare(generator, self.optimizer, loader)

    def train_step(self, x):
        self.optimizer.zero_grad()
        self.accelerator.backward(self.generator(x).mean())
        self.optimizer.step()
        self.schedule.step()  # expect: AMP107 none

    def train(self):
        for x in self.loader:
            self.train_step(x)


def main(generator, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    Trainer(generator, loader, accelerator).train()
