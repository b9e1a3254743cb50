"""mmcv.runner: the hook that runs the backward pass and the step of a runner in float16."""

import torch

class OptimizerHook:
    def __init__(self, grad_clip=None):
        self.grad_clip = grad_clip

    def clip_grads(self, params):
        return torch.nn.utils.clip_grad_norm_(params, **self.grad_clip)

    def after_train_iter(self, runner):
        runner.optimizer.zero_grad()
        runner.outputs["loss"].backward()
        if self.grad_clip is not None:
            self.clip_grads(runner.model.parameters())
        runner.optimizer.step()

class Fp16OptimizerHook(OptimizerHook):
    def __init__(self, grad_clip=None, coalesce=True, bucket_size_mb=-1, loss_scale=512.0, distributed=True):
        self.grad_clip = grad_clip
        self._scale_update_param = None
        self.loss_scaler = torch.amp.GradScaler("cuda")

    def after_train_iter(self, runner):
        runner.model.zero_grad()
        runner.optimizer.zero_grad()
        self.loss_scaler.scale(runner.outputs["loss"]).backward()
        self.loss_scaler.unscale_(runner.optimizer)
        if self.grad_clip is not None:
            self.clip_grads(runner.model.parameters())
        self.loss_scaler.step(runner.optimizer)
        self.loss_scaler.update(self._scale_update_param)
