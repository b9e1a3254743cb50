"""apex.amp: a loss is scaled for the length of a `with`, at whose end the gradients are unscaled.

The optimizers, which `initialize` patches, skip their steps on their own: of what comes after, nothing is claimed.
"""

import torch

loss_scaler = torch.amp.GradScaler("cuda", init_scale=loss_scale)  # 65536, unless `initialize` is given another one

def initialize(models, optimizers=None, enabled=True, opt_level="O1", **settings):
    return models, optimizers

class scale_loss:
    def __init__(self, loss, optimizers, loss_id=0, model=None, delay_unscale=False, delay_overflow_check=False):
        self.loss = loss
        self.optimizers = optimizers

    def __enter__(self):
        return loss_scaler.scale(self.loss)

    def __exit__(self, *raised):
        patched(self.optimizers)  # unscaled, or left for the next one

def master_params(optimizer):
    return patched(optimizer)

def state_dict():
    return loss_scaler.state_dict()

def load_state_dict(state):
    loss_scaler.load_state_dict(state)
