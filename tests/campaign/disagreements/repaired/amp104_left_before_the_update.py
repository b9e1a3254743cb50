import torch


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.SGD(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.AdamW(model_d.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step, batch in enumerate(batches):
        with torch.autocast("cpu", dtype=torch.float16):
            loss_g = model_g(batch).float().abs().mean()
        scaler.scale(loss_g).backward()
        optimizer_g.step()
        model_g.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss_d = model_d(batch).float().abs().mean()
        scaler.scale(loss_d / 2).backward()
        if (step + 1) % 2 != 0:
            continue
        scaler.step(optimizer_d)
        model_d.zero_grad()
        scaler.update()
