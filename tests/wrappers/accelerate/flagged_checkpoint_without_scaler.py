import torch
from accelerate import Accelerator


def train(model, dataset, criterion, folder, epochs=3):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(epochs):
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        state = {"model": accelerator.get_state_dict(model), "optimizer": optimizer.state_dict()}  # expect: AMP114 none
        accelerator.save(state, f"{folder}/{epoch}.pt")


class Trainer:
    def __init__(self, model, half=True):
        self.accelerator = Accelerator(mixed_precision="fp16" if half else "no")
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-4)
        self.model, self.opt = self.accelerator.prepare(model, self.opt)

    def train(self, batch):
        self.accelerator.backward(self.model(batch))
        self.opt.step()
        self.opt.zero_grad()

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict()}, path)  # expect: AMP114 none
