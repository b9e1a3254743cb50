"""apex.amp: a loss is scaled for the length of a `with`, at whose end the gradients are unscaled.

The optimizers are patched there, so that they skip steps on their own: of what comes after, nothing is claimed.
"""

import torch

def loss_scale():
    """65536 at first, unless `initialize` is given another one."""

loss_scaler = torch.amp.GradScaler("cuda", init_scale=loss_scale())

class scale_loss:
    def __init__(self, loss, optimizers, loss_id=0, model=None, delay_unscale=False, delay_overflow_check=False):
        self.loss = loss
        self.optimizers = optimizers

    def __enter__(self):
        return loss_scaler.scale(self.loss)

    def __exit__(self, *raised):
        for method in ("step", "zero_grad"):
            setattr(self.optimizers, method, None)
