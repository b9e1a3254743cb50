"""AMP114 where the checkpoint is put together in another file than the one that trains."""

from __future__ import annotations

from pathlib import Path

from project import check, codes, project

TRAIN = """
import torch
{imports}

def train(model, loader, path, names):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    {before}
    for epoch in range(9):
        for data, target in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(data), target)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        {save}
"""
CALL = 17
"""The row of `save`."""
PLAIN = """
import torch

def save(path, model, optimizer):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
"""


def training(imports: str, save: str, before: str = "pass") -> str:
    """A training loop that saves after each epoch."""
    return TRAIN.format(imports=imports, save=save, before=before)


def found(root: Path, name: str = "train.py") -> list[tuple[str, int]]:
    """Codes and rows of what is found in one file."""
    return [(each.code, each.range.start.row) for each in check(root, name).diagnostics]


def test_a_file_that_is_called_like_the_package_around_it(tmp_path: Path) -> None:
    loop = training("from train import files", "files.save(path, model, optimizer)")
    root = project(tmp_path, train_files=PLAIN, train_train=loop)
    assert found(root, "train/train.py") == [("AMP114", CALL)]
    assert codes(root, "train/files.py") == []
