import torch
from lightning.fabric import Fabric


def train(model, optimizer, loader):
    fabric = Fabric(accelerator="cuda", precision="16-mixed")
    model, optimizer = fabric.setup(model, optimizer)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with fabric.autocast():
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            fabric.backward(loss)  # expect: AMP201 safe
        optimizer.step()
