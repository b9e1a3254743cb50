import torch


def train(batches, late, often):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for batch in batches:
        for part in batch.chunk(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(part).float().abs().mean() / 3
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if often:
            if not late:
                scaler.step(optimizer)
        if not late:
            scaler.update()
        if not late:
            optimizer.zero_grad()
