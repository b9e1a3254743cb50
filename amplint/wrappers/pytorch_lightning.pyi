"""pytorch_lightning: lightning.pytorch, as it was called up to version 1."""

from lightning.pytorch import Callback as Callback
from lightning.pytorch import LightningModule as LightningModule
from lightning.pytorch import Trainer as Trainer
