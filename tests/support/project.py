"""Projects of several files, written for a test, and what is found in one file of them."""

from __future__ import annotations

import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

from amplint.diagnostics import Diagnostic, FileReport
from amplint.engine.checker import check_bytes, withdraw
from amplint.engine.config import Overrides, Settings, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.neighbours import neighbours
from amplint.engine.runner import RunOptions, run

LOOP = """
import torch
from {module} import {name}

def train(model, loader, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        {call}
        scaler.step(optimizer)
        scaler.update()
"""

CLIPS = """
import torch

def clip(model, limit=1.0):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
"""


def project(root: Path, **files: str) -> Path:
    """Files below a folder: `pkg_engine` is `pkg/engine.py`, and `pkg_init` the package itself."""
    for name, text in files.items():
        path = root / f"{name.replace('_', '/').replace('/init', '/__init__')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def check(root: Path, path: str) -> FileReport:
    """The report on one file of a project, without what only other files could establish."""
    report = check_bytes(path, (root / path).read_bytes(), Settings(root), root / path)
    return withdraw(report, report.facts)


def codes(root: Path, path: str) -> list[str]:
    """The codes that are reported on one file of a project."""
    report = check(root, path)
    assert not report.error
    return [each.code for each in report.diagnostics]


def codes_and_rows(root: Path, path: str) -> list[tuple[str, int]]:
    """The codes that are reported on one file of a project, each with its row."""
    return [(each.code, each.range.start.row) for each in check(root, path).diagnostics]


def only(report: FileReport) -> Diagnostic:
    """The only finding of a report."""
    (found,) = report.diagnostics
    return found


def found_in(root: Path, *paths: str, select: tuple[str, ...] = ("ALL",), ignore: tuple[str, ...] = ()) -> set[str]:
    """What a run finds in a project, as `file:row code`.

    Args:
        root: the folder of the project.
        *paths: the files and folders that are named, relative to the root; none means the whole project.
        select: the rules that run.
        ignore: those that do not.
    """
    (root / "pyproject.toml").write_text("[tool.amplint]\n")
    resolver = SettingsResolver(Overrides(select=select, ignore=ignore))
    named = [str(root / path) for path in paths or (".",)]
    files = [item for item in discover(named, resolver) if isinstance(item, FoundFile)]
    others = neighbours(files, named, resolver)
    reports = list(run(files, RunOptions(1, no_cache=True), others=others))
    assert not [report.error for report in reports if report.error]
    for item, report in zip(files, reports):
        unnamed = [each for each in report.diagnostics if not _names_a_file(each)]
        assert not unnamed or not _missing_alone(item, unnamed), f"{item.display} does not say what it rests on"
    return {
        f"{item.path.relative_to(root.resolve()).as_posix()}:{each.range.start.row} {each.code}"
        for item, report in zip(files, reports)
        for each in report.diagnostics
    }


def _names_a_file(finding: Diagnostic) -> bool:
    """Whether a finding names another file: by a second location, or in its words, or in those of one."""
    words = finding.message + finding.note + "".join(related.message for related in finding.related)
    return any(related.path for related in finding.related) or ".py" in words or "another file of the project" in words


def _missing_alone(item: FoundFile, findings: list[Diagnostic]) -> list[Diagnostic]:
    """The findings in a file that are not there when it is all that there is: they rest on other files."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, item.path.name)
        alone.write_bytes(item.path.read_bytes())
        report = check_bytes(str(alone), alone.read_bytes(), replace(item.settings, root=Path(folder)), alone)
    known = {(each.code, each.range.start) for each in withdraw(report, report.facts).diagnostics}
    return [each for each in findings if (each.code, each.range.start) not in known]
