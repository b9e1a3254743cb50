import torch
from ignite.contrib.engines import common
from ignite.engine import Engine


def together(model, loader, criterion, config):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=config["amp"])

    def update(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=config["amp"]):
            loss = criterion(model(batch[0].cuda()), batch[1].cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    trainer = Engine(update)
    to_save = {"trainer": trainer, "model": model, "optimizer": optimizer}
    common.setup_common_training_handlers(trainer=trainer, to_save=to_save, output_path="runs")  # expect: AMP114 none
    trainer.run(loader, max_epochs=3)
