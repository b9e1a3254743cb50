import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper
from mmengine.runner import Runner


def train_plain(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optim_wrapper = OptimWrapper(optimizer)
    for images, labels in loader:
        with optim_wrapper.optim_context(model):
            loss = criterion(model(images), labels)
        optim_wrapper.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim_wrapper.step()
        optim_wrapper.zero_grad()


def train_configured(path):
    cfg = Config.fromfile(path)
    cfg.optim_wrapper.type = "AmpOptimWrapper"
    cfg.optim_wrapper.loss_scale = "dynamic"
    Runner.from_cfg(cfg).train()
