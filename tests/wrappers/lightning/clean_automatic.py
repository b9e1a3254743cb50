import lightning as L
import torch
from torch import nn


class Classifier(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, batch_idx):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.log("train_loss", loss)
        return loss

    def on_before_optimizer_step(self, optimizer):
        norms = [param.grad.norm() for param in self.parameters() if param.grad is not None]
        self.log("grad_norm", torch.stack(norms).norm())
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)}


def main(train, val):
    trainer = L.Trainer(accelerator="gpu", precision="16-mixed", gradient_clip_val=1.0, max_epochs=5)
    trainer.fit(Classifier(), train, val)
