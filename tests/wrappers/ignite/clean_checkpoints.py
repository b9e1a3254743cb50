import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver


def main(model, loader, criterion, evaluator):
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
    to_save["scaler"] = scaler
    handler = Checkpoint(to_save, DiskSaver("runs", require_empty=False), n_saved=2)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    again = {"model": model, "optimizer": optimizer, "grad_scaler": scaler}
    trainer.add_event_handler(Events.EPOCH_COMPLETED, Checkpoint(again, DiskSaver("again")))
    best = Checkpoint({"model": model}, DiskSaver("best"), n_saved=1, score_name="accuracy")
    evaluator.add_event_handler(Events.COMPLETED, best)
    trainer.run(loader, max_epochs=3)
