import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    optim_wrapper = AmpOptimWrapper(optimizer=optimizer, dtype="float16")
    for images, labels in loader:
        with optim_wrapper.optim_context(model):
            loss = criterion(model(images), labels)
        optim_wrapper.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 35)  # expect: AMP101 none
        optim_wrapper.step()
        optim_wrapper.zero_grad()
