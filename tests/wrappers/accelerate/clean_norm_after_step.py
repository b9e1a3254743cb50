import torch
from accelerate import Accelerator


def train(model, dataset, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=1000)
    loader = torch.utils.data.DataLoader(dataset, batch_size=16)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        if not accelerator.optimizer_step_was_skipped:
            scheduler.step()
        norm = torch.stack([param.grad.norm() for param in model.parameters()]).norm()
        accelerator.print(loss.item(), norm.item())
        optimizer.zero_grad()


def train_unwrapped_names(net, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16", log_with="wandb")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    prepared, prepared_opt = accelerator.prepare(net, opt)
    for inputs, targets in loader:
        prepared_opt.zero_grad()
        accelerator.backward(criterion(prepared(inputs), targets))
        prepared_opt.step()
        norm = torch.stack([param.grad.norm() for param in net.parameters()]).norm()
        accelerator.log({"norm": norm.item()})
