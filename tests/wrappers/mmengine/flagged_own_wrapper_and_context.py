import torch
from mmengine.optim import AmpOptimWrapper


class ClippingWrapper(AmpOptimWrapper):
    def step(self, **kwargs):
        torch.nn.utils.clip_grad_norm_(self.optimizer.param_groups[0]["params"], 1.0)  # expect: AMP101 none
        self.loss_scaler.step(self.optimizer, **kwargs)
        self.loss_scaler.update(self._scale_update_param)


def train(model, loader, optimizer):
    wrapper = AmpOptimWrapper(optimizer=optimizer)
    for inputs, targets in loader:
        with wrapper.optim_context(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            wrapper.update_params(loss)  # expect: AMP201 safe
