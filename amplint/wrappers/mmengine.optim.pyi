"""mmengine.optim: the wrapper of an optimizer that scales, unscales where it clips, steps and updates."""

import torch

class OptimWrapper:
    def __init__(self, optimizer, accumulative_counts=1, clip_grad=None):
        self.optimizer = optimizer

    def update_params(self, loss, step_kwargs=None, zero_kwargs=None):
        loss.backward()
        if self.should_update():
            self.step()
            self.zero_grad()

    def backward(self, loss, **kwargs):
        loss.backward(**kwargs)

    def zero_grad(self, **kwargs):
        self.optimizer.zero_grad(**kwargs)

    def step(self, **kwargs):
        self.optimizer.step(**kwargs)

class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale="dynamic", dtype=None, use_fsdp=False, *, optimizer, clip_grad=None, **kwargs):
        self.optimizer = optimizer
        self.clip_grad = clip_grad
        self.cast_dtype = dtype
        self.loss_scaler = torch.amp.GradScaler("cuda")

    def update_params(self, loss, step_kwargs=None, zero_kwargs=None):
        self.backward(loss)
        if self.should_update():
            self.step()
            self.zero_grad()

    def optim_context(self, model):
        return torch.autocast("cuda", dtype=self.cast_dtype)

    def backward(self, loss, **kwargs):
        self.loss_scaler.scale(loss).backward(**kwargs)

    def step(self, **kwargs):
        if self.clip_grad:
            self.loss_scaler.unscale_(self.optimizer)
        self.loss_scaler.step(self.optimizer)
        self.loss_scaler.update()
