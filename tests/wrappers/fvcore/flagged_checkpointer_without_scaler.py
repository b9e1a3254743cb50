import torch
from fvcore.common.checkpoint import Checkpointer, PeriodicCheckpointer


def train(model, loader, folder):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    checkpointer = Checkpointer(model, folder, optimizer=optimizer)  # expect: AMP114 none
    periodic = PeriodicCheckpointer(checkpointer, period=1000)
    for iteration, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        periodic.step(iteration)
