import torch


def run(model, loader, loss_fn, log):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(x), y)
        scaler.scale(loss).backward()
        total = 0.0
        for p in model.parameters():
            total += p.grad.pow(2).sum().item()  # expect: AMP102 safe
        log("grad_norm", total**0.5)
        scaler.step(opt)
        scaler.update()
