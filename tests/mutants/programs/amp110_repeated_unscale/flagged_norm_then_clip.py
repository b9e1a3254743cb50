import torch


def step(model, optimizer, scaler, loss, history):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    history.append(sum(float(p.grad.norm()) for p in model.parameters()))
    scaler.unscale_(optimizer)  # expect: AMP110 safe
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    history = []
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).mean()
        step(model, optimizer, scaler, loss, history)
