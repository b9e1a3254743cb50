import torch
from accelerate import Accelerator


def fit(net, loader, mixed_precision="bf16", cpu=False):
    accelerator = Accelerator(mixed_precision=mixed_precision, cpu=cpu)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for data, target in loader:
        accelerator.backward(net(data, target).loss)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def fit_on_the_processor(net, loader, plugin):
    accelerator = Accelerator(mixed_precision="fp16", deepspeed_plugin=plugin)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for data, target in loader:
        accelerator.backward(net(data, target).loss)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
