import lightning as L
import torch
from torch import nn


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, batch_idx):
        images, labels = batch
        return nn.functional.cross_entropy(self.model(images), labels)

    def on_after_backward(self):
        norms = [param.grad.norm() for param in self.parameters() if param.grad is not None]  # expect: AMP102 none
        self.log("grad_norm", torch.stack(norms).norm())
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # expect: AMP101 none


class Norms(L.Callback):
    def on_after_backward(self, trainer, pl_module):
        total = sum(param.grad.norm() ** 2 for param in pl_module.parameters())  # expect: AMP102 none
        pl_module.log("norm", total.sqrt())

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        pl_module.log("true_norm", sum(param.grad.norm() ** 2 for param in pl_module.parameters()).sqrt())


def main(train):
    trainer = L.Trainer(accelerator="gpu", precision="16-mixed", callbacks=[Norms()])
    trainer.fit(Classifier(), train)
