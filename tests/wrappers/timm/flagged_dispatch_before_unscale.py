import torch
from timm.utils import NativeScaler, dispatch_clip_grad


def train(model, loader, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        dispatch_clip_grad(model.parameters(), 1.0)  # expect: AMP101 safe
        scaler.step(optimizer)
        scaler.update()


def train_wrapped(model, loader, optimizer, criterion, scheduler):
    loss_scaler = NativeScaler()
    for images, labels in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
        scheduler.step()  # expect: AMP107 none
