import argparse

import torch
from accelerate import Accelerator


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mixed_precision", default=None, choices=["no", "fp16", "bf16"])
    parser.add_argument("--max-grad-norm", type=float, default=1.0)
    return parser.parse_args()


def main(model, optimizer, loader, criterion):
    args = parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=4, mixed_precision=args.mixed_precision, log_with="wandb")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)  # expect: AMP101 none
            optimizer.step()
            optimizer.zero_grad()
