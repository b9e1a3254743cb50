"""The accelerator of an object goes by a local name."""

from accelerate import Accelerator


class Fit:
    def __init__(self, net, optimizer):
        self.accelerator = Accelerator(mixed_precision="fp16")
        self.net, self.optimizer = self.accelerator.prepare(net, optimizer)

    def run(self, loader, criterion):
        accelerator = self.accelerator
        for data, target in loader:
            with accelerator.autocast():
                loss = criterion(self.net(data), target)
                accelerator.backward(loss)  # expect: AMP201 safe
            self.optimizer.step()
            self.optimizer.zero_grad()
