import torch
from accelerate import Accelerator
from transformers import get_scheduler


def train(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=1000)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        rate.step()  # expect: AMP107 none
        optimizer.zero_grad()


class Trainer:
    def __init__(self, config):
        self.accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
        self.config = config

    def train(self, model, loader):
        optimizer = torch.optim.AdamW(model.parameters())
        lr_scheduler = get_scheduler("linear", optimizer=optimizer, num_training_steps=self.config.steps)
        model, opt, loader = self.accelerator.prepare(model, optimizer, loader)
        for _ in range(self.config.epochs):
            for batch in loader:
                with self.accelerator.accumulate(model):
                    self.accelerator.backward(model(**batch).loss)
                    if self.accelerator.sync_gradients:
                        self.accelerator.clip_grad_norm_(model.parameters(), 1.0)
                        lr_scheduler.step()  # expect: AMP107 none
                    opt.step()
                    opt.zero_grad()
