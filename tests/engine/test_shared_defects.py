"""A defect in a loop of a base class is told once, however many subclasses in other files have a part in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import CLIPS, LOOP, project

from amplint.diagnostics import OUTSIDE, Diagnostic
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.runner import RunOptions, run

BASE = """
    import torch

    class Base:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.AdamW(model.parameters())
            self.scaler = torch.amp.GradScaler("cuda")

        def work(self, data):
            raise NotImplementedError

        def train(self, loader):
            for data in loader:
                self.work(data)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()
"""
HEIR = """
    import torch
    from base import Base

    class Trainer(Base):
        def work(self, data):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(data).mean()
            self.scaler.scale(loss).backward(){comment}
"""


def found(root: Path, *names: str) -> list[Diagnostic]:
    """The findings of a run on some files of a project."""
    resolver = SettingsResolver(Overrides(select=("AMP101",)))
    named = [str(root / name) for name in names] or [str(root)]
    files = [each for each in discover(named, resolver) if isinstance(each, FoundFile)]
    return [each for report in run(files, RunOptions(jobs=1, no_cache=True)) for each in report.diagnostics]


def names_of(finding: Diagnostic) -> list[str]:
    return [Path(each.path or finding.path).name for each in finding.related]


@pytest.mark.parametrize("heirs", [1, 2, 3])
def test_it_is_told_in_the_first_file_which_names_the_others(tmp_path: Path, heirs: int) -> None:
    texts = {f"heir{number}": HEIR.format(comment="") for number in range(heirs)}
    root = project(tmp_path, base=BASE, **texts)
    (finding,) = found(root)
    assert Path(finding.path).name == "heir0.py"
    assert finding.related[0].message == OUTSIDE
    assert names_of(finding) == ["base.py", *(f"heir{number}.py" for number in range(1, heirs))]


def test_where_only_another_file_is_checked_it_is_told_there(tmp_path: Path) -> None:
    root = project(tmp_path, base=BASE, one=HEIR.format(comment=""), two=HEIR.format(comment=""))
    (finding,) = found(root, "two.py")
    assert (Path(finding.path).name, names_of(finding)) == ("two.py", ["base.py"])


def test_where_a_comment_silences_the_first_it_is_told_in_the_next(tmp_path: Path) -> None:
    root = project(tmp_path, base=BASE, one=HEIR.format(comment="  # noqa: AMP101"), two=HEIR.format(comment=""))
    (finding,) = found(root)
    assert (Path(finding.path).name, names_of(finding)) == ("two.py", ["base.py"])


def test_calls_of_one_helper_from_two_files_are_two_defects(tmp_path: Path) -> None:
    train = LOOP.format(module="helper", name="clip", call="clip(model)")
    root = project(tmp_path, helper=CLIPS, one=train, two=train)
    assert [Path(each.path).name for each in found(root)] == ["one.py", "two.py"]
