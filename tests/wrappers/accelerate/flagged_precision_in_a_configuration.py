"""The precision goes through an attribute of a configuration, which options set."""

import accelerate
import torch


def train(config, options, model, loader):
    config.train.precision = "no" if options.full else "fp16"
    accelerator = accelerate.Accelerator(mixed_precision=config.train.precision)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if options.resume is not None:
        states = torch.load(options.resume)
        model.load_state_dict(states["model"])
        optimizer.load_state_dict(states["optimizer"])
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for data, target in loader:
        optimizer.zero_grad()
        accelerator.backward(torch.nn.functional.mse_loss(model(data), target))
        optimizer.step()
    weights = accelerator.unwrap_model(model).state_dict()
    torch.save({"model": weights, "optimizer": optimizer.state_dict()}, "last.pt")  # expect: AMP114 none
