"""lightning.fabric: Fabric in 16-mixed owns the scaler; unless the text says so, nobody knows in which precision it computes.

What it sets up is its own: stepping such an optimizer steps through the scaler and updates it.
"""

import torch

def Fabric(
    accelerator="auto",
    strategy="auto",
    devices="auto",
    num_nodes=1,
    precision=None,
    plugins=None,
    callbacks=None,
    loggers=None,
):
    if precision in ("16-mixed", "16", 16):
        if accelerator in ("auto", "gpu", "cuda"):
            if strategy in ("auto", "dp", "ddp", "ddp_spawn", "ddp_find_unused_parameters_true", "fsdp", "DDPStrategy"):
                return Scaling()

class Scaling:
    GIVES_BACK_FLOAT32 = True  # what `setup` has wrapped: `forward` computes in the region, and its results are widened

    def autocast(self):
        return torch.autocast("cuda", dtype=torch.float16)

    def backward(self, tensor, *args, model=None, **kwargs):
        self._precision.scaler.scale(tensor).backward(**kwargs)

    def clip_gradients(self, module, optimizer, clip_val=None, max_norm=None, norm_type=2.0, error_if_nonfinite=True):
        self._precision.scaler.unscale_(self._unwrapped(optimizer))

    def all_gather(self, data, group=None, sync_grads=False):
        return data

    def all_reduce(self, data, group=None, reduce_op="mean"):
        return data
