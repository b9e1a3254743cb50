"""Where the modules of a project are looked for, and what that costs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from amplint.source import FileLocation
from amplint.syntax.project_files import Modules


def _nested(root: Path, depth: int) -> Path:
    """A file so many folders below a root."""
    folder = root.joinpath(*("d" * depth))
    folder.mkdir(parents=True)
    return folder / "train.py"


def _seconds(root: Path, depth: int) -> float:
    place = FileLocation(_nested(root, depth), root)
    taken = []
    for _ in range(3):
        start = time.process_time()
        Modules(place)
        taken.append(time.process_time() - start)
    return min(taken)


def test_the_cost_of_a_file_does_not_grow_with_the_cube_of_its_depth(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    assert _seconds(tmp_path / "many", 600) < 24 * _seconds(tmp_path / "few", 100)  # the cube would be 216


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    path = _nested(root, 3)
    for folder in (outside, root / "shared"):
        folder.mkdir(exist_ok=True)
        (folder / "helpers.py").write_text("def step(optimizer):\n    optimizer.step()\n")
    (root / "d" / "src").symlink_to(outside)
    assert Modules(FileLocation(path, root)).find("helpers") is None
    (root / "d" / "src").unlink()
    (root / "d" / "src").symlink_to(root / "shared")
    assert Modules(FileLocation(path, root)).find("helpers") is not None


@pytest.mark.parametrize("folder", ["src", "lib", "core"])
def test_folders_that_scripts_put_on_the_path(tmp_path: Path, folder: str) -> None:
    place = FileLocation(tmp_path / "tools" / "train.py", tmp_path)
    before = Modules(place)
    assert before.place("engine.loop.fit") is None
    assert folder in dict(before.footing().absent)[str(tmp_path)]  # where it turns up, the file is read again
    (tmp_path / folder / "engine").mkdir(parents=True)
    (tmp_path / folder / "engine" / "loop.py").write_text("def fit(optimizer):\n    optimizer.step()\n")
    (tmp_path / folder / "logging.py").write_text("def fit(optimizer):\n    optimizer.step()\n")
    assert Modules(place).place("engine.loop.fit") == (tmp_path / folder / "engine" / "loop.py", "fit")
    assert Modules(place).place("logging.fit") is None


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_project_may_itself_lie_behind_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    path = _nested(real, 2)
    (real / "helpers.py").write_text("def step(optimizer):\n    optimizer.step()\n")
    (tmp_path / "link").symlink_to(real)
    root = tmp_path / "link"
    assert Modules(FileLocation(root / path.relative_to(real), root)).find("helpers") is not None


def test_an_init_at_the_root_of_a_project_hides_nothing(tmp_path: Path) -> None:
    """A program that is started at the root imports `pkg`, whatever package the folder of the root could be."""
    root = tmp_path / "root"
    (root / "pkg").mkdir(parents=True)
    for path in ("__init__.py", "pkg/__init__.py"):
        (root / path).touch()
    (root / "pkg/loop.py").write_text("import torch\n\ndef clip(model, optimizer): optimizer.step()\n")
    for importer in ("train.py", "pkg/train.py"):
        assert Modules(FileLocation(root / importer, root)).place("pkg.loop.clip") == (root / "pkg/loop.py", "clip")


SCALER = """\
import torch

class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
"""


def test_a_library_is_read_as_its_own_repository_has_it(tmp_path: Path) -> None:
    package = tmp_path / "timm" / "utils"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    train = FileLocation(tmp_path / "train.py", tmp_path)
    described = Modules(train).find("timm.utils.cuda")
    assert described is not None and described.tree.source.path.endswith(".pyi")

    (package / "cuda.py").write_text(SCALER)
    own = Modules(train).find("timm.utils.cuda")
    assert own is not None and own.tree.source.text == SCALER


def test_what_settings_describe_is_taken_as_they_say(tmp_path: Path) -> None:
    (tmp_path / "timm").mkdir()
    (tmp_path / "timm" / "utils.py").write_text(SCALER)
    told = tmp_path / "told.pyi"
    told.write_text("class NativeScaler:\n    def __call__(self, loss, optimizer):\n        loss.backward()\n")
    place = FileLocation(tmp_path / "train.py", tmp_path, (("timm.utils", told),))
    found = Modules(place).find("timm.utils")
    assert found is not None and found.tree.source.text == told.read_text()
