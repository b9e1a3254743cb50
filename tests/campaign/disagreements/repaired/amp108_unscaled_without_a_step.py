import torch


def train_one_epoch(model, optimizer, scaler, option_0, option_1, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).float().abs().mean()
        scaler.scale(loss).backward()
        if option_1:
            scaler.unscale_(optimizer)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.clamp_(-0.1, 0.1)
        if option_0:
            scaler.step(optimizer)
        scaler.update()


def train(batches, option_0, option_1):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    train_one_epoch(model, optimizer, scaler, option_0, option_1, batches)
