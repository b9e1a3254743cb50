import argparse

import lightning as L
import torch
from lightning.fabric import Fabric
from torch.nn.utils import clip_grad_norm_

parser = argparse.ArgumentParser()
parser.add_argument("--precision", default="32-true", choices=["32-true", "16-mixed", "bf16-mixed"])
args = parser.parse_args()


class Net(L.LightningModule):
    def __init__(self, body, loss):
        super().__init__()
        self.body, self.loss = body, loss

    def training_step(self, batch, index):
        inputs, targets = batch
        return self.loss(self.body(inputs), targets)

    def on_after_backward(self):
        if self.trainer.precision == "bf16-mixed":
            clip_grad_norm_(self.parameters(), 1.0)


def by_hand(net, loader, criterion):
    fabric = Fabric(precision=args.precision)
    model, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for inputs, targets in loader:
        fabric.backward(criterion(model(inputs), targets))
        if args.precision in ("bf16-mixed", "32-true"):
            clip_grad_norm_(model.parameters(), 1.0)
        else:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()


def main(net, loader, criterion):
    L.Trainer(precision=args.precision, max_epochs=3).fit(Net(net, criterion), loader)
    by_hand(net, loader, criterion)
