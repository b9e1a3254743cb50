import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step, batch in enumerate(batches):
        update_grad = (step + 1) % 3 == 0
        if update_grad:
            optimizer.step()
        for part in batch.chunk(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(part).float().abs().mean()
            scaler.scale(loss / 3).backward()
        if update_grad:
            scaler.unscale_(optimizer)
        if update_grad:
            scaler.update()
        if update_grad:
            model.zero_grad(set_to_none=True)
