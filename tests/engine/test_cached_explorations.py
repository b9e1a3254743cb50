"""What paths have shown is kept for the next text that an editor gives, in the cache of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.diagnostics import FileReport
from amplint.engine.config import Settings
from amplint.engine.discovery import FoundFile
from amplint.engine.runner import RunOptions, check_text

TRAIN = """\
import torch

def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


class Editing:
    """A text that is checked as it changes, each time with nothing known but what the cache holds."""

    def __init__(self, folder: Path) -> None:
        self._cache = folder / "cache"
        project = folder / "project"
        project.mkdir()
        self._item = FoundFile(project / "train.py", "train.py", Settings(project))

    def report(self, text: str, cached: bool = True) -> FileReport:
        how = RunOptions(1, self._cache, no_cache=not cached)
        return check_text(self._item, text.encode(), how)

    @property
    def kept(self) -> list[Path]:
        return sorted(self._cache.rglob("*.explored"))


@pytest.fixture
def editing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editing:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return Editing(tmp_path)


@pytest.mark.parametrize(
    ("new", "is_followed"),
    [
        (TRAIN.replace("    for step", "    verbose = True\n    for step"), False),
        (f"# a comment\n{TRAIN}", False),
        (TRAIN.replace("        scaler.update()\n", ""), True),
    ],
)
def test_only_an_edit_of_what_happens_adds_anything(editing: Editing, new: str, is_followed: bool) -> None:
    first = editing.report(TRAIN)
    assert [each.code for each in first.diagnostics] == ["AMP101"]
    (kept,) = editing.kept
    before = kept.read_bytes()
    assert editing.report(new) == editing.report(new, cached=False) != first
    assert (kept.read_bytes() != before) is is_followed


def test_what_somebody_else_wrote_is_not_read(editing: Editing) -> None:
    editing.report(TRAIN)
    (kept,) = editing.kept
    kept.write_bytes(kept.read_bytes().replace(b"clip-before-unscale", b"missing-update-here"))
    moved = f"\n{TRAIN}"
    assert editing.report(moved) == editing.report(moved, cached=False)


def test_without_a_cache_nothing_is_kept(editing: Editing) -> None:
    editing.report(TRAIN, cached=False)
    assert not editing.kept
