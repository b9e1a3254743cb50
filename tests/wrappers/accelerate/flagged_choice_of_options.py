import argparse

import torch
from accelerate import Accelerator


def main(model, loader, criterion):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mixed-precision", default=None, choices=["no", "fp16", "bf16"])
    args = parser.parse_args()
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 safe
        optimizer.step()
        optimizer.zero_grad()
