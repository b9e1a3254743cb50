import torch


def train(model, loader, optimizer, amp: bool):
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", amp):  # expect: AMP213 safe
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
