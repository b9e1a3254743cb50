"""lightning.pytorch.callbacks: where the callbacks of lightning.pytorch derive from."""

from lightning.pytorch import Callback as Callback
