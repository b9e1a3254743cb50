import torch


def train_one_epoch(model, criterion, loader, optimizer, scaler, ema):
    model.train()
    for images, targets in loader:
        images, targets = images.cuda(non_blocking=True), targets.cuda(non_blocking=True)
        with torch.amp.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
            loss = criterion(outputs, targets)
            optimizer.zero_grad()
            scaler.scale(loss).backward()  # expect: AMP201 unsafe
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        ema.update(model)


def main(model, criterion, loader, ema, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(epochs):
        train_one_epoch(model, criterion, loader, optimizer, scaler, ema)
