"""Only what a prepared model gives back when it is called is float32: not what it computes within, nor what the region does."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, images):
        shares = torch.sigmoid(self.layer(images))
        return -torch.log(shares + 1e-8)  # expect: AMP301 safe


def train(loader):
    accelerator = Accelerator(mixed_precision="fp16")
    gate = Gate()
    gate, optimizer = accelerator.prepare(gate, torch.optim.SGD(gate.parameters(), lr=0.1))
    for images in loader:
        optimizer.zero_grad()
        with accelerator.autocast():
            loss = gate(images).mean()
        accelerator.backward(loss)
        optimizer.step()


def train_head(model, head, optimizer, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for images, labels in loader:
        optimizer.zero_grad()
        with accelerator.autocast():
            logits = model(images) @ head
        accelerator.backward(F.cross_entropy(logits, labels))  # expect: AMP211 safe
        optimizer.step()
