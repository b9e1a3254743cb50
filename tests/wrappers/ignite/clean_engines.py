import torch
from ignite.engine import Engine, Events, create_supervised_trainer, supervised_training_step_amp
from ignite.handlers import Checkpoint, DiskSaver, create_lr_scheduler_with_warmup


def ready_made(model, loader, criterion, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = create_supervised_trainer(model, optimizer, criterion, device, amp_mode="amp", scaler=True)
    saved = {"model": model, "optimizer": optimizer, "scaler": trainer.state.scaler, "trainer": trainer}
    trainer.add_event_handler(Events.EPOCH_COMPLETED, Checkpoint(saved, DiskSaver("runs")))
    trainer.run(loader, max_epochs=3)


def from_a_step(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2**10)
    update = supervised_training_step_amp(model, optimizer, criterion, "cuda", scaler=scaler)
    Engine(update).run(loader, max_epochs=3)


def by_hand(model, loader, criterion):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")

    def update(engine, batch):
        model.train()
        optimizer.zero_grad()
        images, labels = (each.cuda() for each in batch)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    trainer = Engine(update)
    warm = create_lr_scheduler_with_warmup(
        torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98), warmup_start_value=0.0, warmup_duration=100
    )
    trainer.add_event_handler(Events.ITERATION_STARTED, warm)
    trainer.run(loader, max_epochs=3)
