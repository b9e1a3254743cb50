"""deepspeed: an engine scales, unscales and steps where its configuration asks for float16; else nobody knows what it does.

The stage of ZeRO decides which gradients there are between its `backward` and its `step`, and so nothing is claimed of them.
"""

import torch
from deepspeed.runtime.zero import ZeroOptimizer

def initialize(
    args=None,
    model=None,
    optimizer=None,
    model_parameters=None,
    training_data=None,
    lr_scheduler=None,
    distributed_port=29500,
    mpu=None,
    dist_init_required=None,
    collate_fn=None,
    config=None,
    mesh_param=None,
    config_params=None,
):
    if config["fp16"]["enabled"] is True:
        return Engine(), ZeroOptimizer(), [], lr_scheduler
    if config_params["fp16"]["enabled"] is True:
        return Engine(), ZeroOptimizer(), [], lr_scheduler

class Engine:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer = ZeroOptimizer()

    def backward(self, loss, retain_graph=False, scale_wrt_gas=True):
        self.scaler.scale(loss).backward()
        self.optimizer.reduce_gradients()

    def scale(self, loss):
        return self.scaler.scale(loss)

    def step(self, lr_kwargs=None):
        if self.is_gradient_accumulation_boundary():
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.zero_grad()
