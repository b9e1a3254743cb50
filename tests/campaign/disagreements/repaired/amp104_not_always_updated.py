import torch


def train(batches, option_0):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        optimizer.step()
        scaler.update()
        optimizer.zero_grad()
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).float().abs().mean()
        scaler.scale(loss).backward()
        optimizer.step()
        if option_0:
            scaler.update(1024.0)
        optimizer.zero_grad()
