"""detectron2.engine: a trainer whose step scales; what it leaves to its subclasses happens before the gradients are unscaled."""

import torch

class SimpleTrainer:
    def __init__(self, model, data_loader, optimizer, *settings):
        self.model = model
        self.optimizer = optimizer

    def run_step(self):
        loss = self.model(next(self._data_loader_iter))
        self.optimizer.zero_grad()
        loss.backward()
        self.after_backward()
        self.optimizer.step()

    def after_backward(self):
        pass

    def state_dict(self):
        return {"iteration": self.iter, "optimizer": self.optimizer.state_dict()}

class AMPTrainer(SimpleTrainer):
    def __init__(self, model, data_loader, optimizer, *settings, grad_scaler=None):
        super().__init__(model, data_loader, optimizer)
        self.grad_scaler = torch.amp.GradScaler("cuda") if grad_scaler is None else grad_scaler

    def run_step(self):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(next(self._data_loader_iter))
        self.optimizer.zero_grad()
        self.grad_scaler.scale(loss).backward()
        self.after_backward()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()

    def state_dict(self):
        return {**super().state_dict(), "grad_scaler": self.grad_scaler.state_dict()}

def HookBase(trainer: AMPTrainer):
    return Hook

class Hook:
    def _run_step(self):
        loss = self.trainer.model(next(self.trainer._data_loader_iter))
        self.trainer.optimizer.zero_grad()
        scaled = self.trainer.grad_scaler.scale(loss)
        scaled.backward()
        self.after_backward()
        self.trainer.grad_scaler.step(self.trainer.optimizer)
        self.trainer.grad_scaler.update()
        self.after_step()

    def after_backward(self):
        pass

    def after_step(self):
        pass
