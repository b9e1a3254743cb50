import torch
from accelerate import Accelerator


def main(model, loader, criterion, writer):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        total = torch.stack([param.grad.norm() for param in model.parameters()]).norm()  # expect: AMP102 none
        writer.add_scalar("norm", total.item(), step)
        optimizer.step()
