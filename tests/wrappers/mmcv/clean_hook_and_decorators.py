import torch
from mmcv.runner import HOOKS, BaseModule, Fp16OptimizerHook, OptimizerHook, auto_fp16, force_fp32
from torch import nn


class Head(BaseModule):
    def __init__(self, channels):
        super().__init__()
        self.fp16_enabled = True
        self.conv = nn.Conv2d(channels, 80, 1)

    @auto_fp16(apply_to=("feats",))
    def forward(self, feats):
        return self.conv(feats)

    @force_fp32(apply_to=("scores",))
    def loss(self, scores, labels):
        return nn.functional.binary_cross_entropy(scores.sigmoid(), labels)


@HOOKS.register_module()
class AccumulatingFp16Hook(Fp16OptimizerHook):
    def __init__(self, every=4, **kwargs):
        super().__init__(**kwargs)
        self.every = every

    def after_train_iter(self, runner):
        self.loss_scaler.scale(runner.outputs["loss"] / self.every).backward()
        if self.every_n_iters(runner, self.every):
            self.loss_scaler.unscale_(runner.optimizer)
            if self.grad_clip is not None:
                self.clip_grads(runner.model.parameters())
            self.loss_scaler.step(runner.optimizer)
            self.loss_scaler.update(self._scale_update_param)
            runner.meta.setdefault("fp16", {})["loss_scaler"] = self.loss_scaler.state_dict()
            runner.optimizer.zero_grad()


@HOOKS.register_module()
class ClippingHook(OptimizerHook):
    def after_train_iter(self, runner):
        runner.optimizer.zero_grad()
        runner.outputs["loss"].backward()
        torch.nn.utils.clip_grad_norm_(runner.model.parameters(), 35)
        runner.optimizer.step()
