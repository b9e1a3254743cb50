"""accelerate and Fabric make float32 of what the models give back that they have prepared."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from lightning.fabric import Fabric


def train(model, optimizer, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for images, labels in loader:
        optimizer.zero_grad()
        with accelerator.autocast():
            logits = model(images)
        accelerator.backward(F.cross_entropy(logits, labels))
        optimizer.step()


class Trainer:
    def __init__(self, net, optimizer):
        self.fabric = Fabric(precision="16-mixed")
        self.net, self.optimizer = self.fabric.setup(net, optimizer)

    def step(self, images, labels):
        self.optimizer.zero_grad()
        with self.fabric.autocast():
            logits = self.net(images)
        self.fabric.backward(F.cross_entropy(logits, labels))
        self.optimizer.step()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 10)

    def forward(self, images):
        return self.layer(images)


def finetune(loader):
    accelerator = Accelerator(mixed_precision="fp16")
    net = Net()
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for images, labels in loader:
        with accelerator.autocast():
            logits = net(images)
        accelerator.backward(F.cross_entropy(logits, labels))
        optimizer.step()
        optimizer.zero_grad()


def with_shares(model, optimizer, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for images in loader:
        optimizer.zero_grad()
        with accelerator.autocast():
            shares = torch.sigmoid(model(images))
            loss = -torch.log(shares + 1e-8).mean()
        accelerator.backward(loss)
        optimizer.step()


def by_its_method(model, optimizer, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    net = Net()
    model, net, optimizer, loader = accelerator.prepare(model, net, optimizer, loader)
    for images, labels in loader:
        optimizer.zero_grad()
        with accelerator.autocast():
            logits, others = model.forward(images), net.forward(images)
        accelerator.backward(F.cross_entropy(logits, labels) + F.cross_entropy(others, labels))
        optimizer.step()
