"""lightning.pytorch.core: where lightning.pytorch has its modules from."""

from lightning.pytorch import LightningModule as LightningModule
