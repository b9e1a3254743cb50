import torch
from accelerate import Accelerator


def train(model, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, loader = accelerator.prepare(model, loader)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()  # expect: AMP104 none
