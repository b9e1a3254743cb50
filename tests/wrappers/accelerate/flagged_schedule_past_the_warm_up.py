import torch
from accelerate import Accelerator


def train(model, loader, criterion, lr, warmup):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, (inputs, targets) in enumerate(loader):
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        if step > warmup:
            rate.step()  # expect: AMP107 none
        optimizer.zero_grad()
