import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    optim_wrapper = AmpOptimWrapper(optimizer=optimizer)
    for images, labels in loader:
        optimizer.zero_grad()
        with optim_wrapper.optim_context(model):
            loss = criterion(model(images), labels)
        optim_wrapper.backward(loss)
        optimizer.step()  # expect: AMP104 none
