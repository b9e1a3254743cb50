import torch


def train(model, loader, criterion, writer):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    running = 0.0
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        running += loss.item()  # expect: AMP119 unsafe
        writer.add_scalar("loss", loss.item(), step)  # expect: AMP119 unsafe
    return running
