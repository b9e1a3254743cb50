"""accelerate hears of every backward pass that its optimizers step with, or scales nothing."""

import torch
from accelerate import Accelerator
from torch import nn


def heard_of(model, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for noisy, clean in loader:
        loss = nn.functional.mse_loss(model(noisy), clean)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def either(model, loader, plain):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for noisy, clean in loader:
        loss = nn.functional.mse_loss(model(noisy), clean)
        if plain:
            loss.backward()
        else:
            accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def in_bfloat16(model, loader):
    accelerator = Accelerator(mixed_precision="bf16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for noisy, clean in loader:
        loss = nn.functional.mse_loss(model(noisy), clean)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
