import torch
import torch.nn.functional as F
from lightning.pytorch import LightningModule, Trainer


class Scorer(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        loss = F.binary_cross_entropy_with_logits(self.net(inputs), targets)  # expect: AMP304 safe
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        inputs, mask = batch
        scores = self.net(inputs).masked_fill(mask, -1e9)  # expect: AMP303 none
        self.log("best", scores.max())


trainer = Trainer(precision="16-mixed", accelerator="gpu")
