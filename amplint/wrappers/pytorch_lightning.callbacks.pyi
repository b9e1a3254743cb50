"""pytorch_lightning.callbacks: where the callbacks of lightning.pytorch derive from."""

from lightning.pytorch import Callback as Callback
