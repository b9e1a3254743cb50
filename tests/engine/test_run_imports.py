"""How one part of a project trains says nothing about files that another part trains without AMP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from program import amplint, environment
from project import project

MASK = """\
import torch

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(8, 8)

    def forward(self, x, mask):
        scores = self.query(x) @ x.transpose(-2, -1)
        return scores.masked_fill(mask, -1e9).softmax(-1)
"""
MODEL = "from layers import Attention\nmodel = Attention()\n"
TRAIN = "from model import model\n{}loss = model(batch, mask)\nloss.backward()\noptimizer.step()\n"
HALF = """\
import torch

scaler = torch.amp.GradScaler()
for batch in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
PLACE = "other/layers.py:10:16:"


def found(root: Path, *paths: str, **files: str) -> list[str]:
    """The places of numbers beyond float16, in a project of which another part trains in float16."""
    project(root, half_train=HALF, other_layers=MASK, other_model=MODEL, **files)
    (root / "pyproject.toml").touch()
    done = amplint("--select", "AMP303", *(paths or (".",)), cwd=root)
    assert done.returncode in (0, 1), done.stderr
    return [line.partition(" AMP")[0] for line in done.stdout.splitlines() if " AMP303 " in line]


@pytest.mark.parametrize("paths", [(), ("other/layers.py",)], ids=["all files", "one file"])
def test_a_model_with_a_training_script_of_its_own_is_left_alone(tmp_path: Path, paths: tuple[str, ...]) -> None:
    assert found(tmp_path, *paths) == [PLACE]
    assert found(tmp_path, *paths, other_train=TRAIN.format("")) == []


def test_flake8_leaves_it_alone_too(tmp_path: Path) -> None:
    def told() -> str:
        command = [sys.executable, "-m", "flake8", "--select", "AMP303", "."]
        return subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True).stdout

    assert found(tmp_path) == [PLACE]
    assert PLACE in told()
    assert found(tmp_path, other_train=TRAIN.format("")) == []
    assert told() == ""


def test_one_of_the_files_that_are_led_to_speaks_of_amp(tmp_path: Path) -> None:
    assert found(tmp_path, other_train=TRAIN.format("from torch.cuda.amp import autocast\n")) == [PLACE]
    both = "from other.layers import Attention\nimport half.train\n"
    assert found(tmp_path, other_train=TRAIN.format(""), both=both) == [PLACE]


def test_a_test_of_gradients_trains_nothing(tmp_path: Path) -> None:
    tested = "from layers import Attention\nAttention()(x, y).sum().backward()\n"
    assert found(tmp_path, other_tested=tested) == [PLACE]


def test_a_fix_does_not_bring_it_back(tmp_path: Path) -> None:
    """What the file is told after a fix is what it was told before."""
    assert found(tmp_path, other_train=TRAIN.format("")) == []
    layers = tmp_path / "other" / "layers.py"
    layers.write_text(MASK.replace("return", "# amplint: ignore[AMP301]\n        return"))
    done = amplint("--select", "AMP301,AMP303,AMP901", "--fix", ".", cwd=tmp_path)
    assert "AMP303" not in done.stdout
    assert layers.read_text() == MASK


def test_a_script_that_prints_and_that_nothing_leads_to(tmp_path: Path) -> None:
    project(tmp_path, half_train=HALF, tutorial=f"{MASK}\nprint(Attention()(torch.rand(2, 8), torch.eye(2)))\n")
    (tmp_path / "pyproject.toml").touch()
    assert "AMP303" not in amplint("--select", "AMP303", ".", cwd=tmp_path).stdout
    (tmp_path / "half" / "other.py").write_text("from tutorial import Attention\n" + HALF)
    assert "tutorial.py:10:16: AMP303" in amplint("--select", "AMP303", ".", cwd=tmp_path).stdout
