"""ignite.handlers: a checkpoint saves the states of what it was given by name when it was made."""

import torch

class Checkpoint:
    def __init__(self, to_save, save_handler, filename_prefix="", **settings):
        self.to_save = to_save

    def save(self, engine):
        checkpoint = {}
        for name, each in self.to_save.items():
            checkpoint[name] = each.state_dict()
        torch.save(checkpoint, f"{engine.state.iteration}.pt")
