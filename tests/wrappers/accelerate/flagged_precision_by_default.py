from dataclasses import dataclass

import torch
from accelerate import Accelerator


@dataclass
class Settings:
    mixed_precision: str = "fp16"
    cpu: bool = False


def fit(net, loader, mixed_precision="fp16"):
    accelerator = Accelerator(mixed_precision=mixed_precision)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for data, target in loader:
        accelerator.backward(net(data, target).loss)
        accelerator.wait_for_everyone()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()
        optimizer.zero_grad()


def fit_as_set(net, loader, settings: Settings, **options):
    accelerator = Accelerator(mixed_precision=settings.mixed_precision, cpu=settings.cpu, **options)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for data, target in loader:
        accelerator.backward(net(data, target).loss)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP101 none
        optimizer.step()
        optimizer.zero_grad()
