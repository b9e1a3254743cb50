import torch


def train(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        scaler = torch.amp.GradScaler("cuda", init_scale=4096.0)  # expect: AMP113 safe
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
