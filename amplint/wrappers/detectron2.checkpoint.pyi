"""detectron2.checkpoint: its checkpointer saves what that of fvcore saves."""

from fvcore.common.checkpoint import Checkpointer

class DetectionCheckpointer(Checkpointer):
    def __init__(self, model, save_dir="", *, save_to_disk=None, **checkpointables):
        super().__init__(model, save_dir, save_to_disk=save_to_disk, **checkpointables)
