import torch


def train(model, loader, criterion):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        optimizer.zero_grad()  # expect: AMP123 display
        scaler.step(optimizer)
        scaler.update()
