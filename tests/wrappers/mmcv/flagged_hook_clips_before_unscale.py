from mmcv.runner import HOOKS, Fp16OptimizerHook


@HOOKS.register_module()
class ClipFirstFp16Hook(Fp16OptimizerHook):
    def after_train_iter(self, runner):
        runner.model.zero_grad()
        runner.optimizer.zero_grad()
        self.loss_scaler.scale(runner.outputs["loss"]).backward()
        self.clip_grads(runner.model.parameters())  # expect: AMP101 safe
        self.loss_scaler.step(runner.optimizer)
        self.loss_scaler.update(self._scale_update_param)
