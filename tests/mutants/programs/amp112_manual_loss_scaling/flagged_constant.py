import torch

LOSS_SCALE = 1024.0


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        (loss * LOSS_SCALE).backward()  # expect: AMP112 display
        for p in model.parameters():
            p.grad.data.div_(LOSS_SCALE)
        optimizer.step()
