import torch
from accelerate import Accelerator


def train_one_epoch(accelerator, model, optimizer, loader, criterion):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 safe
        optimizer.step()


def main(model, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(10):
        train_one_epoch(accelerator, model, optimizer, loader, criterion)
