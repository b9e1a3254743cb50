import torch
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, half=True):
        self.accelerator = Accelerator(mixed_precision="fp16" if half else "no")
        self.model = model
        self.weight = torch.nn.Parameter(torch.ones(8, 8))

    def step(self, inputs, targets):
        with self.accelerator.autocast():
            loss = torch.nn.functional.cross_entropy(self.model(inputs), targets)
            self.accelerator.backward(loss)  # expect: AMP201 safe
        return loss.detach()

    def other_step(self, inputs):
        with self.accelerator.autocast():
            chances = torch.sigmoid(torch.nn.functional.linear(inputs, self.weight))
            loss = -torch.log(chances + 1e-8).mean()  # expect: AMP301 safe
        self.accelerator.backward(loss)
        return loss.detach()
