import argparse

import torch
import torch.nn.functional as F


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp16", action="store_true")
    parser.add_argument("--accum", type=int, default=4)
    return parser.parse_args()


def run(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-5, total_steps=1000)
    scaler = torch.amp.GradScaler("cuda", enabled=args.fp16)
    model.train()
    running = 0.0
    for step, batch in enumerate(loader):
        with torch.amp.autocast("cuda", dtype=torch.float16, enabled=args.fp16):
            logits = model(batch["input_ids"].cuda(), batch["mask"].cuda())
            loss = F.cross_entropy(logits, batch["labels"].cuda()) / args.accum
        scaler.scale(loss).backward()
        running += loss.item()
        if (step + 1) % args.accum == 0:
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()  # expect: AMP107 safe
            optimizer.zero_grad()
            print("loss", running)
            running = 0.0


if __name__ == "__main__":
    run(torch.nn.Transformer().cuda(), [], parse())
