"""A method clips and steps with its own scaler, and nothing in its file calls it: other files may unscale before they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import project

from amplint.diagnostics import FileReport
from amplint.engine import linter
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.neighbours import project_files
from amplint.engine.runner import RunOptions, run
from amplint.source import Source

LEARNER = """
    import torch

    class Learner:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            self.scaler = torch.amp.GradScaler("cuda")

        def apply(self):
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
"""
HOOK = """
    def after_backward(learner):
        learner.scaler.unscale_(learner.optimizer)
"""
HEIR = """
    from learner import Learner

    class Careful(Learner):
        def prepare(self):
            self.scaler.unscale_(self.optimizer)
"""
OF_ITS_OWN = """
    import torch

    def train(model, optimizer, loader):
        scaler = torch.amp.GradScaler("cuda")
        for batch in loader:
            scaler.scale(model(batch)).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
"""
PROGRAM = """
    import torch

    def train(model, optimizer, loader, scaler):
        for batch in loader:
            scaler.scale(model(batch)).backward()
            finish(scaler, optimizer)

    def finish(scaler, optimizer):
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    def main(model, optimizer, loader, learner):
        {making}
        train(model, optimizer, loader, scaler)

    if __name__ == "{run_as}":
        main(*made())
"""
MAKING = "scaler = torch.amp.GradScaler('cuda')"
ASKING = """
    def after_backward(learner):
        if hasattr(learner.scaler, "unscale_"):
            call(learner.scaler, "unscale_", learner.optimizer)
"""


def _codes(root: Path, *names: str) -> list[str]:
    """The codes that are found in a file when only that is named, and when the whole project is."""
    resolver = SettingsResolver(Overrides())
    named = [str(root / name) for name in names]
    found = [each for each in discover(named, resolver) if isinstance(each, FoundFile)]
    options = RunOptions(jobs=1, no_cache=True)
    reports = list(run(found, options, project=lambda: project_files(found, named, resolver)))
    return [each.code for report in reports for each in report.diagnostics if report.path.endswith("learner.py")]


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (HOOK, []),
        (HEIR, []),
        (ASKING, []),
        (OF_ITS_OWN, ["AMP101"]),
        (PROGRAM.format(making=MAKING, run_as="__main__"), ["AMP101"]),
        (PROGRAM.format(making=MAKING, run_as="helpers"), []),
        (PROGRAM.format(making="scaler = learner.scaler", run_as="__main__"), []),
        (PROGRAM.format(making=f"{MAKING} if learner is None else learner.scaler", run_as="__main__"), []),
        (PROGRAM.format(making=f"scaler = learner.scaler = {MAKING.partition(' = ')[2]}", run_as="__main__"), []),
        (PROGRAM.format(making=f"{MAKING}; learner.scaler = scaler", run_as="__main__"), []),
        (PROGRAM.format(making=f"{MAKING}; learner.hook = finish", run_as="__main__"), []),
        ("x = 1", ["AMP101"]),
    ],
    ids=[
        "hook",
        "heir",
        "by name",
        "of its own",
        "program",
        "helpers",
        "of another",
        "perhaps of another",
        "shared at once",
        "shared",
        "handed on",
        "nothing",
    ],
)
def test_what_other_files_unscale(other: str, found: list[str], tmp_path: Path) -> None:
    root = project(tmp_path, learner=LEARNER, other=other)
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert _codes(root, ".") == found
    assert _codes(root, "learner.py") == found


@pytest.mark.parametrize(
    ("named", "read"),
    [(("learner.py", "hook.py"), []), (("learner.py",), ["hook.py"])],
    ids=["in the run", "beside it"],
)
def test_no_more_is_read_than_somebody_who_unscales(
    named: tuple[str, ...], read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, learner=LEARNER, hook=HOOK, later=OF_ITS_OWN)
    resolver, options = SettingsResolver(Overrides()), RunOptions(jobs=1, no_cache=True)
    found, beside = (
        [each for each in discover([str(root / name) for name in names], resolver) if isinstance(each, FoundFile)]
        for names in (named, ("hook.py", "later.py"))
    )
    asked: list[str] = []
    lint = linter.lint_source

    def noted(source: Source, *rest: object) -> FileReport:
        asked.append(Path(source.path).name)
        return lint(source, *rest)  # type: ignore[arg-type]

    def others() -> list[FoundFile]:
        monkeypatch.setattr(linter, "lint_source", noted)
        return beside

    reports = list(run(found, options, project=others))
    assert [each.code for report in reports for each in report.diagnostics] == []
    assert asked == read


def test_other_projects_unscale_for_themselves(tmp_path: Path) -> None:
    """What another folder does that is named in the same run says nothing about this project."""
    roots = [tmp_path / name for name in ("one", "two")]
    project(roots[0], learner=LEARNER)
    project(roots[1], hook=HOOK)
    resolver = SettingsResolver(Overrides())
    found = [each for each in discover([*map(str, roots)], resolver) if isinstance(each, FoundFile)]
    reports = run(found, RunOptions(jobs=1, no_cache=True), project_of=lambda item: item.path.parent)
    assert [each.code for report in reports for each in report.diagnostics] == ["AMP101"]
