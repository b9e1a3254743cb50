import argparse

import torch
from accelerate import Accelerator


class Runner:
    def __init__(self, net, loader, precision="no"):
        self.accelerator = Accelerator(mixed_precision=precision)
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
        self.net, self.optimizer, self.loader = self.accelerator.prepare(net, optimizer, loader)

    def run(self):
        for data, target in self.loader:
            self.accelerator.backward(self.net(data, labels=target).loss)
            norms = [parameter.grad.norm() for parameter in self.net.parameters()]  # expect: AMP102 none
            self.accelerator.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            print(max(norms).item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="no", choices=["no", "fp16", "bf16"])
    options = parser.parse_args()
    Runner(torch.nn.Linear(8, 8), [], precision=options.precision).run()
