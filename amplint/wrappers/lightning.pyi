"""lightning: where lightning.fabric's Fabric and what lightning.pytorch has go by another name."""

from lightning.fabric import Fabric as Fabric
from lightning.pytorch import Callback as Callback
from lightning.pytorch import LightningModule as LightningModule
from lightning.pytorch import Trainer as Trainer
