import torch
from mmengine.optim import AmpOptimWrapper


class Runner:
    def __init__(self, model, loader, lr=0.01):
        self.model, self.loader = model, loader
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.optim_wrapper = AmpOptimWrapper(
            optimizer=optimizer, dtype="float16", clip_grad={"max_norm": 35}, accumulative_counts=4
        )
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 11])

    def train_step(self, data):
        with self.optim_wrapper.optim_context(self.model):
            losses = self.model(**data)
            loss = sum(losses.values())
        self.optim_wrapper.update_params(loss)
        return {name: value.item() for name, value in losses.items()}

    def train(self, epochs):
        for epoch in range(epochs):
            for data in self.loader:
                self.train_step(data)
            self.scheduler.step()
            state = {"model": self.model.state_dict(), "optimizer": self.optim_wrapper.state_dict(), "epoch": epoch}
            torch.save(state, f"epoch_{epoch}.pth")
