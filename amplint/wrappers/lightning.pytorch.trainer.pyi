"""lightning.pytorch.trainer: where lightning.pytorch has its trainer from."""

from lightning.pytorch import Trainer as Trainer
