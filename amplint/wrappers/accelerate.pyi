"""accelerate: an accelerator in float16 owns the scaler; unless the text says so, nobody knows in which precision it computes.

What it prepares is its own: stepping a prepared optimizer unscales, steps, updates and clears in its own order.
"""

import torch

def Accelerator(
    device_placement=True,
    split_batches=False,
    mixed_precision=None,
    gradient_accumulation_steps=1,
    cpu=False,
    dataloader_config=None,
    deepspeed_plugin=None,
    fsdp_plugin=None,
    torch_tp_plugin=None,
    megatron_lm_plugin=None,
    rng_types=None,
    log_with=None,
    project_dir=None,
    project_config=None,
    gradient_accumulation_plugin=None,
    **settings,
):
    if mixed_precision == "fp16":
        if cpu is False:
            if deepspeed_plugin is None:
                if megatron_lm_plugin is None:
                    return Scaling()

class Scaling:
    GIVES_BACK_FLOAT32 = (
        True  # what `prepare` has wrapped: `forward` computes in the region, and its results are widened
    )

    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def autocast(self, autocast_handler=None):
        return torch.autocast("cuda", dtype=torch.float16)

    def backward(self, loss, **kwargs):
        self.scaler.scale(loss).backward(**kwargs)

    def unscale_gradients(self, optimizer=None):
        self.scaler.unscale_(self._prepared_optimizers())

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        self.unscale_gradients()

    def clip_grad_value_(self, parameters, clip_value):
        self.unscale_gradients()

    def _step(self, prepared):  # what a prepared optimizer does when it is stepped
        self.scaler.step(prepared)
        self.scaler.update()

    def save_state(self, output_dir=None):
        torch.save(self.scaler.state_dict(), f"{output_dir}/scaler.pt")

    def gather(self, tensor):
        return tensor

    def gather_for_metrics(self, input_data, use_gather_object=False):
        return input_data

    def reduce(self, tensor, reduction="sum", scale=1.0):
        return tensor

    def unwrap_model(self, model, keep_fp32_wrapper=True, keep_torch_compile=True):
        return model
