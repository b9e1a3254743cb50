import torch
from ignite.engine import Engine


def run(model, loader, criterion):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")

    def update(engine, batch):
        model.train()
        optimizer.zero_grad()
        images, labels = (each.cuda() for each in batch)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 safe
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    Engine(update).run(loader, max_epochs=3)
