import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.utilities import grad_norm


class Net(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return self(batch).mean()

    def on_after_backward(self):
        self.log_dict(grad_norm(self, norm_type=2))  # expect: AMP102 none


class Norms(Callback):
    @staticmethod
    def total(model):
        total = 0.0
        for param in model.parameters():
            if param.grad is not None:
                total += param.grad.detach().data.norm(2).item() ** 2  # expect: AMP102 none
        return total**0.5

    def on_after_backward(self, trainer, model):
        if trainer.global_step % 50 == 0:
            model.log("train/grad_norm", self.total(model))


class TrueNorms(Callback):
    def on_before_optimizer_step(self, trainer, model, optimizer):
        model.log_dict(grad_norm(model, norm_type=2))


def trainer(half):
    return pl.Trainer(gpus=1, precision=16 if half else 32, callbacks=[Norms(), TrueNorms()])
