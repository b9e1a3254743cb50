import torch


def finetune(model, batches, every):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    scaler = torch.amp.GradScaler("cuda")
    seen = 0
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(**batch).loss / every
        scaler.scale(loss).backward()
        seen += 1
        if seen % every == 0:
            scaler.step(opt)
            opt.zero_grad()
        scaler.update()  # expect: AMP108 safe
