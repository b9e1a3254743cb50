"""fvcore.common.checkpoint: a checkpointer saves the model, and whatever else it was given by keyword when it was made."""

import torch

class Checkpointer:
    def __init__(self, model, save_dir="", *, save_to_disk=True, **checkpointables):
        self.model = model
        self.save_dir = save_dir
        self.checkpointables = checkpointables

    def save(self, name, **extra):
        data = {"model": self.model.state_dict()}
        for key, each in self.checkpointables.items():
            data[key] = each.state_dict()
        data.update(extra)
        torch.save(data, f"{self.save_dir}/{name}.pth")
