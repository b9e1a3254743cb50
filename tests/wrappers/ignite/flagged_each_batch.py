import torch
from ignite.engine import Engine, Events


def without_update(net, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")

    def one(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # expect: AMP105 safe
        return loss.item()

    return Engine(one)


class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.scaler = torch.amp.GradScaler("cuda")
        self.engine = Engine(self.iteration)

    def iteration(self, engine, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)  # expect: AMP105 safe
        return loss.item()


def schedules(net, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer)

    def one(engine, batch):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(net(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    trainer = Engine(one)

    @trainer.on(Events.ITERATION_COMPLETED)
    def advance(engine):
        rate.step()  # expect: AMP107 none

    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: warm.step())  # expect: AMP107 none
    return trainer
