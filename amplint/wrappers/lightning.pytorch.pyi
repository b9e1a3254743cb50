"""lightning.pytorch: what a Trainer in 16-mixed does around the methods of a module, and of a callback.

Unless the text says so, nobody knows in which precision a Trainer computes.
"""

import torch

def Trainer(*, accelerator="auto", strategy="auto", precision=None, amp_backend="native", **settings):
    if precision in ("16-mixed", "16", 16):
        if accelerator in ("auto", "gpu", "cuda", "dp", "ddp", "ddp_spawn", None):
            if strategy in (
                "auto",
                "dp",
                "ddp",
                "ddp_spawn",
                "ddp_notebook",
                "ddp_find_unused_parameters_true",
                "ddp_find_unused_parameters_false",
                "DDPStrategy",
                "DDPPlugin",
                None,
            ):
                if amp_backend == "native":
                    return Scaling()

class Scaling:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

trainer = Scaling()

def LightningModule(trainer: Trainer):
    return Module

class Module:
    def _train(self, batch, optimizer):
        loss = self.training_step(batch, 0)
        self.on_before_zero_grad(optimizer)
        self.zero_grad()
        self.manual_backward(loss)
        trainer.scaler.unscale_(optimizer)
        self.on_before_optimizer_step(optimizer)
        self.configure_gradient_clipping(optimizer)
        trainer.scaler.step(optimizer)
        trainer.scaler.update()

    @torch.autocast("cuda", dtype=torch.float16, cache_enabled=False)
    def training_step(self, batch, batch_idx):
        pass

    @torch.autocast("cuda", dtype=torch.float16, cache_enabled=False)
    def validation_step(self, batch, batch_idx):
        pass

    @torch.autocast("cuda", dtype=torch.float16, cache_enabled=False)
    def test_step(self, batch, batch_idx):
        pass

    @torch.autocast("cuda", dtype=torch.float16, cache_enabled=False)
    def predict_step(self, batch, batch_idx):
        pass

    def manual_backward(self, loss, *args, **kwargs):
        with torch.autocast("cuda", enabled=False):  # on in manual optimization, which is none of the user's business
            scaled = trainer.scaler.scale(loss)
            self.on_before_backward(scaled)
            self.backward(scaled, *args, **kwargs)
            self.on_after_backward()

    def backward(self, loss, *args, **kwargs):
        loss.backward(*args, **kwargs)

    def clip_gradients(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        pass

    def optimizers(self, use_pl_optimizer=True):
        return LightningOptimizer()

    def lr_schedulers(self):
        return []

    def toggle_optimizer(self, optimizer):
        pass

    def untoggle_optimizer(self, optimizer):
        pass

    def on_before_zero_grad(self, optimizer):
        pass

    def on_before_backward(self, loss):
        pass

    def on_after_backward(self):
        pass

    def on_before_optimizer_step(self, optimizer):
        pass

class LightningOptimizer:
    def step(optimizer, closure=None):
        trainer.scaler.step(optimizer)
        trainer.scaler.update()

def Callback(trainer: Trainer):
    return Hooks

class Hooks:
    def _train(self, trainer_, module, batch, optimizer):
        loss = module.training_step(batch, 0)
        self.on_before_zero_grad(trainer_, module, optimizer)
        module.zero_grad()
        scaled = trainer.scaler.scale(loss)
        self.on_before_backward(trainer_, module, scaled)
        scaled.backward()
        self.on_after_backward(trainer_, module)
        trainer.scaler.unscale_(optimizer)
        self.on_before_optimizer_step(trainer_, module, optimizer)
        trainer.scaler.step(optimizer)
        trainer.scaler.update()

    def on_before_zero_grad(self, trainer_, module, optimizer):
        pass

    def on_before_backward(self, trainer_, module, loss):
        pass

    def on_after_backward(self, trainer_, module):
        pass

    def on_before_optimizer_step(self, trainer_, module, optimizer):
        pass
