import torch


def update(model, loss, optimizer, scaler, limit=1.0):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit, error_if_nonfinite=True)  # expect: AMP121 unsafe
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return grad_norm


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).square().mean()
        update(model, loss, optimizer, scaler)
