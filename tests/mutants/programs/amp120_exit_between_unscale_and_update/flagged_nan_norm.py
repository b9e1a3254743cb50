import math

import torch


def train(model, loader, optimizer, log):
    scaler = torch.amp.GradScaler("cuda")
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not math.isfinite(norm):
            log(f"step {step} is skipped")
            continue  # expect: AMP120 display
        scaler.step(optimizer)
        scaler.update()
