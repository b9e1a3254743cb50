import torch
import torchutil


def train(model, loader, write):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        write(torchutil.gradients.stats(model))  # expect: AMP102 safe
        scaler.step(optimizer)
        scaler.update()
