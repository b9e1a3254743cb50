import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    optim_wrapper = AmpOptimWrapper(optimizer=optimizer)
    for step, (images, labels) in enumerate(loader):
        with optim_wrapper.optim_context(model):
            loss = criterion(model(images), labels)
        optim_wrapper.update_params(loss)
        scheduler.step()  # expect: AMP107 none
        if step % 1000 == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, "latest.pth")
