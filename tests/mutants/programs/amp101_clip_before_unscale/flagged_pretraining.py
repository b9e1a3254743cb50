import math
import torch
from torch.nn.utils import clip_grad_norm_


def lr_at(step, warmup, total, peak):
    if step < warmup:
        return peak * step / warmup
    return 0.5 * peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def pretrain(model, batches, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    scaler = torch.amp.GradScaler("cuda")
    model.train()
    for step, (tokens, targets) in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(step, args.warmup, args.total, args.peak)
        with torch.autocast("cuda", dtype=torch.float16):
            logits, loss = model(tokens, targets)
            loss = loss / args.accumulate
        scaler.scale(loss).backward()
        if (step + 1) % args.accumulate == 0:
            clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 safe
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
