import torch


def train(model, loader, criterion, writer, log_every):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    scaler = torch.amp.GradScaler("cuda")
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        if step % log_every == 0:
            for name, parameter in model.named_parameters():
                writer.add_scalar(f"grad/{name}", parameter.grad.norm().item(), step)  # expect: AMP102 safe
        scaler.step(optimizer)
        scaler.update()
