import torch
from detectron2.checkpoint import DetectionCheckpointer


def train(model, loader, folder):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    checkpointer = DetectionCheckpointer(model, folder, optimizer=optimizer)
    for iteration, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if iteration % 1000 == 0:
            checkpointer.save(f"model_{iteration}", iteration=iteration)  # expect: AMP114 none
