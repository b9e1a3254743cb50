"""The precision is a name that an option gives another value: it may be float16."""

import accelerate
import torch


class Trainer:
    def __init__(self, config, model):
        precision = "fp16"
        if config.full_precision:
            precision = "no"
        self.accelerator = accelerate.Accelerator(mixed_precision=precision)
        self.model, self.optimizer = self.accelerator.prepare(model, torch.optim.SGD(model.parameters()))

    def train_step(self, batch):
        loss = self.model(batch)
        self.optimizer.zero_grad()
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP101 safe
        self.optimizer.step()
