import argparse

import torch
from accelerate import Accelerator
from torch.nn.utils import clip_grad_norm_

parser = argparse.ArgumentParser()
parser.add_argument("--mixed_precision", default="no", choices=["no", "fp16", "bf16"])
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)


def clips_in_float16(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if args.mixed_precision == "bf16":
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        else:
            clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()
        optimizer.zero_grad()


def clips_where_something_is_half(model, loader, criterion, optimizer):
    for inputs, targets in loader:
        accelerator.backward(criterion(model(inputs), targets))
        if accelerator.mixed_precision in ("fp16", "bf16"):
            clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()
        optimizer.zero_grad()


def clips_after_all(model, frozen, loader, criterion, optimizer):
    if accelerator.mixed_precision == "bf16":
        frozen.to(dtype=torch.bfloat16)
    for inputs, targets in loader:
        accelerator.backward(criterion(model(frozen(inputs)), targets))
        clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()
        optimizer.zero_grad()


def main(net, frozen, loader, criterion):
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    clips_in_float16(model, loader, criterion, optimizer)
    clips_where_something_is_half(model, loader, criterion, optimizer)
    clips_after_all(model, frozen, loader, criterion, optimizer)
