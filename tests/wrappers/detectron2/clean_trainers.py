import torch
from detectron2.engine import AMPTrainer, DefaultTrainer, SimpleTrainer
from detectron2.utils.events import get_event_storage


class AccumulatingTrainer(AMPTrainer):
    def __init__(self, model, data_loader, optimizer, every=4):
        super().__init__(model, data_loader, optimizer)
        self.every = every

    def run_step(self):
        data = next(self._data_loader_iter)
        with torch.autocast("cuda", dtype=torch.float16):
            losses = sum(self.model(data).values())
        self.grad_scaler.scale(losses / self.every).backward()
        if (self.iter + 1) % self.every == 0:
            self.grad_scaler.unscale_(self.optimizer)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            get_event_storage().put_scalar("grad_norm", norm)
            self.grad_scaler.step(self.optimizer)
            self.grad_scaler.update()
            self.optimizer.zero_grad()


class ClippingTrainer(SimpleTrainer):
    def after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)


class Trainer(DefaultTrainer):
    def __init__(self, cfg):
        super().__init__(cfg)
        model = self.build_model(cfg)
        optimizer = self.build_optimizer(cfg, model)
        loader = self.build_train_loader(cfg)
        self._trainer = (AMPTrainer if cfg.SOLVER.AMP.ENABLED else SimpleTrainer)(model, loader, optimizer)

    def run_step(self):
        self._trainer.iter = self.iter
        self._trainer.run_step()
