import argparse

import torch
from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--mixed_precision", default="fp16", choices=["no", "fp16", "bf16"])
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)


def asks_first(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        with accelerator.autocast():
            loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        if accelerator.mixed_precision == "fp16":
            accelerator.unscale_gradients()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def asks_for_the_scaler(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if accelerator.scaler is None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        else:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def evaluates(model, loader):
    model.eval()
    with torch.no_grad():
        return [model(inputs) for inputs in loader]


def main(net, loader, criterion):
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    asks_first(model, loader, criterion, optimizer)
    return evaluates(model, loader)
