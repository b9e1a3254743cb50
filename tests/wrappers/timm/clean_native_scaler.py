import torch
from timm.scheduler import create_scheduler_v2
from timm.utils import ApexScaler, NativeScaler, dispatch_clip_grad


def train(model, loader, criterion, use_apex=False, clip=1.0, every=2):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    scheduler, epochs = create_scheduler_v2(optimizer, sched="cosine", num_epochs=10)
    loss_scaler = ApexScaler() if use_apex else NativeScaler()
    updates = 0
    for epoch in range(epochs):
        for index, (images, labels) in enumerate(loader):
            need_update = (index + 1) % every == 0
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(images), labels) / every
            loss_scaler(loss, optimizer, clip_grad=clip, parameters=model.parameters(), need_update=need_update)
            if need_update:
                optimizer.zero_grad()
                updates += 1
                scheduler.step_update(num_updates=updates)
        scheduler.step(epoch + 1)


def train_plain(model, loader, criterion, optimizer):
    for images, labels in loader:
        loss = criterion(model(images), labels)
        loss.backward()
        dispatch_clip_grad(model.parameters(), 1.0, mode="agc")
        optimizer.step()
        optimizer.zero_grad()


def train_native(model, loader, criterion, optimizer):
    loss_scaler = NativeScaler()
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, clip_mode="agc", parameters=model.parameters())
