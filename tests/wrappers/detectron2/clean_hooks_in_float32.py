import torch
from detectron2.engine import DefaultTrainer, HookBase, SimpleTrainer


class Clip(HookBase):
    def after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.trainer.model.parameters(), 1.0)

    def after_step(self):
        self.scheduler.step()


def main(cfg, model, loader, optimizer):
    trainer = SimpleTrainer(model, loader, optimizer) if cfg is None else DefaultTrainer(cfg)
    trainer.register_hooks([Clip()])
    trainer.train(0, 1000)
    print("AMPTrainer is not used")
