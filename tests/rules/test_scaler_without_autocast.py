"""A scaler without a region: the models of other files may enter one (AMP124)."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import project

from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings

TRAIN = """
import torch
from models import make_model

def train(loader, criterion):
    model = make_model("small")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
PACKAGE = """
def make_model(name):
    from .small import Small

    return Small()
"""
SMALL = """
import torch

class Small(torch.nn.Module):
    def forward(self, x):
        {with_}
            return self.layer(x)
"""


@pytest.mark.parametrize(
    ("with_", "expected"),
    [
        ('with torch.autocast("cuda", dtype=torch.float16):', []),
        ("with torch.profiler.record_function(__name__):", ["AMP124"]),
    ],
)
def test_models_of_other_files(tmp_path: Path, with_: str, expected: list[str]) -> None:
    root = project(tmp_path, train=TRAIN, models_init=PACKAGE, models_small=SMALL.format(with_=with_))
    path = root / "train.py"
    report = check_bytes("train.py", path.read_bytes(), Settings(root, select=("AMP124",)), path)
    assert [each.code for each in report.diagnostics] == expected


def test_the_loop_is_in_another_file(tmp_path: Path) -> None:
    main = """
    import torch
    from loop import fit

    def main(model, loader, optimizer):
        scaler = torch.amp.GradScaler("cuda")
        fit(model, loader, optimizer, scaler)
    """
    loop = """
    def fit(model, loader, optimizer, scaler):
        from torch import autocast
        for data, target in loader:
            optimizer.zero_grad()
            with autocast("cuda"):
                loss = model(data, target)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    """
    root = project(tmp_path, main=main, loop=loop)
    path = root / "main.py"
    report = check_bytes("main.py", path.read_bytes(), Settings(root, select=("AMP124",)), path)
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("enters", "expected"),
    [("self.began = time.time()", ["AMP124"]), ('self.region = torch.autocast("cuda").__enter__()', [])],
    ids=["a clock", "a region"],
)
def test_contexts_of_other_files(tmp_path: Path, enters: str, expected: list[str]) -> None:
    clock = f"""
    import time
    import torch

    class Clock:
        def __enter__(self):
            {enters}

        def __exit__(self, *error):
            pass
    """
    lines = TRAIN.replace("from models import make_model", "from clock import Clock\nfrom models import make_model")
    lines = lines.replace("        loss = criterion", "        with Clock():\n            loss = criterion")
    root = project(tmp_path, train=lines, models="def make_model(name):\n    return None\n", clock=clock)
    path = root / "train.py"
    report = check_bytes("train.py", path.read_bytes(), Settings(root, select=("AMP124",)), path)
    assert [each.code for each in report.diagnostics] == expected


@pytest.mark.parametrize("package", [True, False])
def test_a_module_beside_the_file_is_imported_by_a_dot(tmp_path: Path, package: bool) -> None:
    lines = TRAIN.replace("from models import make_model", "from . import models").replace(
        "make_model(", "models.make("
    )
    models = "import torch\n\n@torch.autocast('cuda')\ndef make(name):\n    return None\n"
    root = project(tmp_path, src_train=lines, src_models=models, **({"src_init": ""} if package else {}))
    path = root / "src/train.py"
    report = check_bytes("src/train.py", path.read_bytes(), Settings(root, select=("AMP124",)), path)
    assert report.diagnostics == ()
