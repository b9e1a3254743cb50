"""An update for each micro-batch keeps PyTorch quiet: only the last one counts."""
import torch


def train(model, loader, criterion, optimizer, accumulate=4):
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accumulate
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        scaler.update()
        if (i + 1) % accumulate == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
