import torch
from ignite.engine import Engine, Events


def updated_by_a_handler(net, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")

    def one(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        return loss.item()

    trainer = Engine(one)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: scaler.update())
    return trainer


def updated_now_and_then(net, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")

    def one(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        return loss.item()

    trainer = Engine(one)

    @trainer.on(Events.ITERATION_COMPLETED(every=1))
    def follow(engine):
        scaler.update()

    return trainer


def schedules(net, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer)
    scales = []

    def one(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    def score(engine, batch):
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
            return net(batch[0])

    trainer, evaluator = Engine(one), Engine(score)
    evaluator.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: rate.get_last_lr())

    @trainer.on(Events.EPOCH_COMPLETED)
    def advance(engine):
        rate.step()

    @trainer.on(Events.ITERATION_COMPLETED)
    def taken(engine):
        scales.append(scaler.get_scale())
        if scales[-1] >= scales[-2]:
            warm.step()

    return trainer
