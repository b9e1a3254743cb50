"""A project of two files: losses in one, and in the other a training loop that computes them in an autocast region."""

from __future__ import annotations

from pathlib import Path

from project import found_in

LOSSES = """
import torch
import torch.nn.functional as F


def bce(out, y):
    return F.binary_cross_entropy(torch.sigmoid(out), y)


class Focal(torch.nn.Module):
    def forward(self, out, y):
        return -(torch.log(out.sigmoid() + 1e-9) * y).mean()


def build_criterion(args):
    return Focal()
"""
ENGINE = """
import torch
{imports}

def train_one_epoch(model, criterion, loader, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.{dtype}):
            loss = {loss}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
NUMERICS = ("AMP301", "AMP302", "AMP303", "AMP304", "AMP305", "AMP306", "AMP309")


def engine(loss: str, imports: str = "", dtype: str = "float16") -> str:
    return ENGINE.format(loss=loss, imports=imports, dtype=dtype)


def numerics(root: Path, *paths: str) -> set[str]:
    return found_in(root, *paths, select=NUMERICS)
