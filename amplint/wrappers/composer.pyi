"""composer: what a Trainer in amp_fp16 does around the methods of a model, and of a callback.

Unless the text says so, nobody knows in which precision a Trainer computes: by default in float16, on a GPU.
"""

import torch

def Trainer(*, device=None, precision=None, deepspeed_config=None, **settings):
    if deepspeed_config is None:
        if precision == "amp_fp16":
            return Scaling()
        if precision is None:
            if device == "gpu":
                return Scaling()

class Scaling:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

trainer = Scaling()

def ComposerModel(trainer: Trainer):
    return Model

def ComposerClassifier(trainer: Trainer):
    return Model

class Model:
    def _train(self, batch, optimizer):
        loss = self.loss(self.forward(batch), batch)
        self.zero_grad()
        trainer.scaler.scale(loss).backward()
        trainer.scaler.step(optimizer)
        trainer.scaler.update()

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, batch):
        pass

    @torch.autocast("cuda", dtype=torch.float16)
    def loss(self, outputs, batch):
        pass

    @torch.autocast("cuda", dtype=torch.float16)
    def eval_forward(self, batch, outputs=None):
        pass

def Callback(trainer: Trainer):
    return Hooks

class Hooks:
    def _train(self, state, logger):
        loss = state.model.loss(state.model(state.batch), state.batch)
        state.model.zero_grad()
        scaled = trainer.scaler.scale(loss)
        self.before_backward(state, logger)
        scaled.backward()
        self.after_backward(state, logger)
        trainer.scaler.unscale_(state.optimizers)
        self.after_train_batch(state, logger)
        trainer.scaler.step(state.optimizers)
        trainer.scaler.update()
        self.batch_end(state, logger)

    def before_backward(self, state, logger):
        pass

    def after_backward(self, state, logger):
        pass

    def after_train_batch(self, state, logger):
        pass

    def batch_end(self, state, logger):
        pass
