import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import OneCycleLR


def prepared_by_itself(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = OneCycleLR(optimizer, lr, total_steps=1000)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    rate = accelerator.prepare_scheduler(rate)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        rate.step()
        optimizer.zero_grad()


def once_an_epoch(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(9):
        for inputs, targets in loader:
            accelerator.backward(criterion(model(inputs), targets))
            optimizer.step()
            optimizer.zero_grad()
        rate.step()


def asks(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = OneCycleLR(optimizer, lr, total_steps=1000)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        if accelerator.optimizer_step_was_skipped:
            continue
        rate.step()
        optimizer.zero_grad()


def in_bfloat16(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="bf16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = OneCycleLR(optimizer, lr, total_steps=1000)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        rate.step()
        optimizer.zero_grad()


def starred(model, loader, criterion, lr):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    rate = OneCycleLR(optimizer, lr, total_steps=1000)
    objects = [model, optimizer, loader, rate]
    model, optimizer, loader, rate = accelerator.prepare(*objects)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
