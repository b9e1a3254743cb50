import torch
from detectron2.engine import AMPTrainer, HookBase


class Clip(HookBase):
    def after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.trainer.model.parameters(), 1.0)  # expect: AMP101 none


class Schedule(HookBase):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def after_step(self):
        self.scheduler.step()  # expect: AMP107 none


class Norms(HookBase):
    def after_step(self):
        norm = sum(each.grad.norm() for each in self.trainer.model.parameters())
        self.trainer.storage.put_scalar("norm", norm)


def main(model, loader, optimizer, scheduler):
    trainer = AMPTrainer(model, loader, optimizer)
    trainer.register_hooks([Clip(), Schedule(scheduler), Norms()])
    trainer.train(0, 1000)
