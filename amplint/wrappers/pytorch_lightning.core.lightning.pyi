"""pytorch_lightning.core.lightning: where lightning.pytorch once had its modules from."""

from lightning.pytorch import LightningModule as LightningModule
