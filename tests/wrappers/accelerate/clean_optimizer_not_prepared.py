"""accelerate was not given the optimizer, or its scaler is used by hand."""

import torch
from accelerate import Accelerator
from torch import nn


def not_prepared(model, probe, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    model, loader = accelerator.prepare(model, loader)
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
    for noisy, clean in loader:
        with torch.no_grad():
            features = model(noisy)
        loss = nn.functional.mse_loss(probe(features), clean)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def with_the_scaler_of_the_accelerator(model, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for noisy, clean in loader:
        loss = accelerator.scaler.scale(nn.functional.mse_loss(model(noisy), clean))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
