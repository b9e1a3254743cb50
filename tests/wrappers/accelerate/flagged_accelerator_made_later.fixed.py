"""The object of the library is None at first, or comes from a method."""

import torch
from accelerate import Accelerator


class Late:
    def __init__(self, model, optimizer):
        self.accelerator = None
        self.set_up()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def set_up(self):
        self.accelerator = Accelerator(mixed_precision="fp16")

    def step(self, x, y):
        with self.accelerator.autocast():
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.accelerator.backward(loss)  # expect: AMP201 safe
        self.optimizer.step()
        self.optimizer.zero_grad()


class Given:
    def __init__(self, model, optimizer):
        self.accelerator = self.made()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def made(self):
        accelerator = Accelerator(mixed_precision="fp16")
        return accelerator

    def step(self, x, y):
        with self.accelerator.autocast():
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.accelerator.backward(loss)  # expect: AMP201 safe
        self.optimizer.step()
        self.optimizer.zero_grad()
