import torch
from mmengine.optim import AmpOptimWrapper


class Trainer:
    def __init__(self, model, criterion):
        self.model, self.criterion = model, criterion
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        self.optim_wrapper = AmpOptimWrapper(optimizer=optimizer)

    def step(self, images, labels):
        with self.optim_wrapper.optim_context(self.model):
            loss = self.criterion(self.model(images), labels)
        self.optim_wrapper.zero_grad()
        loss.backward()  # expect: AMP103 none
        self.optim_wrapper.step()
        return loss.item()
