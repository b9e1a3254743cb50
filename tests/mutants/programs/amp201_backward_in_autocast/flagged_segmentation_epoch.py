import torch


def run_epoch(model, loader, loss_fn, optimizer, scaler, device, log_every):
    total = 0.0
    for i, (images, masks) in enumerate(loader):
        images, masks = images.to(device), masks.to(device)
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            out = model(images)
            loss = loss_fn(out, masks)
            scaler.scale(loss).backward()  # expect: AMP201 safe
            scaler.step(optimizer)
            scaler.update()
        total += loss.item()
        if i % log_every == 0:
            print(i, loss.item())
    return total / len(loader)
