import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver


def main(model, loader, criterion):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")

    def update(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(batch[0].cuda()), batch[1].cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    trainer = Engine(update)
    to_save = {"trainer": trainer, "model": model, "optimizer": optimizer}
    handler = Checkpoint(to_save, DiskSaver("runs"), n_saved=2)  # expect: AMP114 none
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    trainer.run(loader, max_epochs=3)
