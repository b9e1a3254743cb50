"""lightning.fabric.fabric: where lightning.fabric's Fabric goes by another name."""

from lightning.fabric import Fabric as Fabric
