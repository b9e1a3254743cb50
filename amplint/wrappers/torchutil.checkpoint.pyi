"""torchutil.checkpoint: a checkpoint holds the model, its optimizer, and what else is given by keyword."""

import torch

def load(file, model, optimizer=None, map_location="cpu"):
    checkpoint = torch.load(file, map_location=map_location)
    model.load_state_dict(checkpoint["model"])
    if optimizer is not None:
        optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer, checkpoint

def save(file, model, optimizer, **kwargs):
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**checkpoint, **kwargs}, file)
