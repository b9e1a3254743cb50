import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion, total_steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    optim_wrapper = AmpOptimWrapper(optimizer=optimizer, loss_scale="dynamic", clip_grad={"max_norm": 1.0})
    optim_wrapper.initialize_count_status(model, 0, total_steps)
    for images, labels in loader:
        optim_wrapper.zero_grad()
        with optim_wrapper.optim_context(model):
            loss = criterion(model(images), labels)
        optim_wrapper.backward(loss)
        optim_wrapper.step()
        norms = [param.grad.norm() for param in model.parameters()]
        print(loss.item(), torch.stack(norms).norm().item())
