import torch
from lightning.fabric import Fabric


def train(model, loader, criterion, precision="32-true"):
    fabric = Fabric(precision=precision)
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    for inputs, targets in fabric.setup_dataloaders(loader):
        loss = criterion(model(inputs), targets)
        fabric.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def train_in_bfloat16(model, loader, criterion):
    fabric = Fabric(precision="bf16-mixed", accelerator="gpu")
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    for inputs, targets in fabric.setup_dataloaders(loader):
        loss = criterion(model(inputs), targets)
        fabric.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
