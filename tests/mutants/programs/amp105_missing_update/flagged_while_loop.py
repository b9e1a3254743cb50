import torch


def optimize(field, targets, iterations):
    adam = torch.optim.Adam(field.parameters(), lr=5e-4)
    grad_scaler = torch.amp.GradScaler("cuda")
    done = 0
    while done < iterations:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (field(targets.rays) - targets.rgb).abs().mean()
        adam.zero_grad()
        grad_scaler.scale(loss).backward()
        grad_scaler.step(adam)  # expect: AMP105 safe
        done += 1
