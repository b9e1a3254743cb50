import argparse

import torch
from accelerate import Accelerator
from torch.nn.utils import clip_grad_norm_

parser = argparse.ArgumentParser()
parser.add_argument("--mixed_precision", default="no", choices=["no", "fp16", "bf16"])
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)


def asks_for_bfloat16(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if args.mixed_precision == "bf16":
            clip_grad_norm_(model.parameters(), 1.0)
        else:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def asks_for_float16(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if accelerator.sync_gradients and accelerator.mixed_precision != "fp16":
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def asks_for_several(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if accelerator.state.mixed_precision in ("no", "bf16"):
            clip_grad_norm_(model.parameters(), 1.0)
        elif args.mixed_precision not in ["fp16", "bf16"]:
            clip_grad_norm_(model.parameters(), 0.5)
        elif "bf16" in args.mixed_precision:
            clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()


def matches(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        match args.mixed_precision:
            case "fp16":
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            case "bf16":
                clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def asks_for_the_dtype(model, frozen, loader, criterion, optimizer):
    weight_dtype = torch.float32
    if accelerator.mixed_precision == "fp16":
        weight_dtype = torch.float16
    elif accelerator.mixed_precision == "bf16":
        weight_dtype = torch.bfloat16
    frozen.to(accelerator.device, dtype=weight_dtype)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(frozen(inputs)), targets))
        if weight_dtype == torch.bfloat16:
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def main(net, frozen, loader, criterion):
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    asks_for_bfloat16(model, loader, criterion, optimizer)
    asks_for_float16(model, loader, criterion, optimizer)
    asks_for_several(model, loader, criterion, optimizer)
    matches(model, loader, criterion, optimizer)
    asks_for_the_dtype(model, frozen, loader, criterion, optimizer)
