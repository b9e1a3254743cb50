import torch
from mmcv.runner import HOOKS, Fp16OptimizerHook


@HOOKS.register_module()
class AdversarialFp16Hook(Fp16OptimizerHook):
    def __init__(self, epsilon=0.01, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def after_train_iter(self, runner):
        runner.model.zero_grad()
        runner.optimizer.zero_grad()
        loss = self.loss_scaler.scale(runner.outputs["loss"])
        loss.backward()
        model = runner.model.module
        direction = torch.sign(model.image.grad.detach())
        model.noise = torch.clamp(model.noise + self.epsilon * direction, -self.epsilon, self.epsilon).detach_()
        model.image.grad.data.zero_()
        self.loss_scaler.unscale_(runner.optimizer)
        if self.grad_clip is not None:
            norm = self.clip_grads(runner.model.parameters())
            if norm is not None:
                runner.log_buffer.update({"grad_norm": float(norm)}, runner.outputs["num_samples"])
        self.loss_scaler.step(runner.optimizer)
        self.loss_scaler.update(self._scale_update_param)
