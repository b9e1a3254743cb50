import torch
from fairscale.nn.data_parallel import FullyShardedDataParallel, ShardedDataParallel
from fairscale.optim import OSS
from fairscale.optim.grad_scaler import ShardedGradScaler


def train_sharded(model, loader, criterion):
    optimizer = OSS(params=model.parameters(), optim=torch.optim.SGD, lr=1e-3)
    model = ShardedDataParallel(model, optimizer)
    scaler = ShardedGradScaler()
    for images, labels in loader:
        model.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        optimizer.clip_grad_norm(1.0)
        scaler.step(optimizer)
        scaler.update()


def train_fully_sharded(model, loader, criterion):
    model = FullyShardedDataParallel(model, mixed_precision=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = ShardedGradScaler()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        model.clip_grad_norm_(1.0)
        scaler.step(optimizer)
        scaler.update()
