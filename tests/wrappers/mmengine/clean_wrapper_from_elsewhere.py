import torch
from mmengine.optim import AmpOptimWrapper


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optim_wrapper = AmpOptimWrapper(optimizer=optimizer, dtype="float16")

    def step(self, images, labels, criterion):
        with self.optim_wrapper.optim_context(self.model):
            loss = criterion(self.model(images), labels)
        self.optim_wrapper.backward(loss)
        self.optim_wrapper.step()
        norm = torch.stack([param.grad.norm() for param in self.model.parameters()]).norm()
        self.optim_wrapper.zero_grad()
        return loss.item(), norm.item()


def step_given(model, optim_wrapper: AmpOptimWrapper, loss):
    optim_wrapper.backward(loss)
    optim_wrapper.step()
    optim_wrapper.zero_grad()
    return sum(param.norm() for param in model.parameters())
