import torch


def epoch(model, loader, optimizer, meter):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.l1_loss(model(x), y)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        meter.update(loss.item(), x.size(0))  # expect: AMP119 unsafe
