import torch
from lightning.fabric import Fabric


class Trainer:
    def __init__(self, model):
        self.fabric = Fabric(precision="16-mixed")
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.model, self.optimizer = self.fabric.setup(model, self.optimizer)

    def fit(self, loader, criterion):
        for inputs, targets in self.fabric.setup_dataloaders(loader):
            loss = criterion(self.model(inputs), targets)
            self.fabric.backward(loss)
            self.optimizer.step()
            norms = [param.grad.norm() for param in self.model.parameters()]
            self.fabric.log("norm", torch.stack(norms).norm())
            self.optimizer.zero_grad()
