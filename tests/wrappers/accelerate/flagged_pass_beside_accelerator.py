"""accelerate was given the optimizer, and does not hear of the backward pass."""

import torch
from accelerate import Accelerator
from torch import nn


def main(model, loader):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for noisy, clean in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(noisy), clean)
            accelerator.log({"loss": loss.item()})
            loss.backward()  # expect: AMP103 none
            optimizer.step()
            optimizer.zero_grad()
