import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")


def step(model, optimizer, criterion, inputs, targets):
    optimizer.zero_grad()
    with accelerator.autocast():
        loss = criterion(model(inputs), targets)
    accelerator.backward(loss)
    accelerator.unscale_gradients(optimizer)
    norms = {name: param.grad.norm().item() for name, param in model.named_parameters()}
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item(), norms
