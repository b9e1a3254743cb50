import torch
from accelerate import Accelerator

from .options import parse_args


def main(model, loader, criterion, settings):
    args = parse_args()
    precision = args.mixed_precision if args.half else settings.precision
    accelerator = Accelerator(mixed_precision=precision)  # "fp16" is one of several
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
