"""amplint inside flake8: the same findings, in the same places, under amplint's own configuration.

Of flake8's switches, those that choose among findings do so here as everywhere. A rule that is off by default runs when
`--select` or `--extend-select` names its code; a prefix such as `AMP` chooses among what amplint runs anyway.
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from amplint import __version__
from amplint.diagnostics import FileReport, deciding
from amplint.engine.checker import check_bytes, withdraw
from amplint.engine.config import ConfigError, Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.neighbours import neighbours, project_files
from amplint.engine.registry import RegistryError
from amplint.engine.relevance import is_concerned
from amplint.engine.run_imports import RunImports
from amplint.engine.runner import RunOptions, establish, run
from amplint.engine.selection import all_rules
from amplint.model.records import NamedTuple
from amplint.report.escape import printable
from amplint.system import installed
from amplint.system.reading import read_file

NOT_CHECKED = "AMP900"
"""The code for a file that amplint could not check; flake8 itself reports syntax errors, as E999."""

Violation = tuple[int, int, str, type["Plugin"]]


class _Asked(NamedTuple):
    """What flake8 was asked to do: the paths that it was given, what it shall choose among findings, and whether it shall
    report what comments suppress."""

    paths: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ()
    disable_noqa: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """The paths; the current folder where there are none."""
        return self.paths or (".",)

    @property
    def is_stdin(self) -> bool:
        """Whether the only file is read from standard input."""
        return "-" in self.paths


class Plugin:
    """What flake8 makes for every file; the arguments are named as flake8 wants them."""

    name = "amplint"
    version = __version__
    _asked: ClassVar[_Asked] = _Asked()

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Learn which files the run is about, and which rules are named; flake8 calls this once in every process."""
        selectors = (*(options.select or ()), *(options.extend_select or ()))
        cls._asked = _Asked(tuple(options.filenames), selectors, options.disable_noqa)

    def run(self) -> Iterator[Violation]:
        """Row (from 1), column (from 0) and text of each finding."""
        with installed.Only():
            try:
                report = self._report()
            except (ConfigError, RegistryError) as error:  # of one folder, perhaps: flake8 goes on with the others
                report = FileReport(self._filename, error=str(error))
        if report.error:
            yield 1, 0, f"{NOT_CHECKED} Not checked: {printable(report.error)}", type(self)
        for found in report.diagnostics:
            start = found.range.start
            yield start.row, start.column - 1, f"{found.code} {printable(found.message)}", type(self)

    def _report(self) -> FileReport:
        asked = self._asked
        path = Path(os.path.abspath(self._filename))
        settings = _resolver(asked).for_file(path)
        if settings.excludes(str(path)):
            return FileReport(self._filename)
        data = self._data()
        if not asked.is_stdin and is_concerned(data, settings, path):
            known = _reports(asked).get(path)
            if known is not None:
                return replace(known, path=self._filename)
        report = check_bytes(self._filename, data, settings, path)
        needs = frozenset(fact for diagnostic in report.diagnostics for fact in diagnostic.needs) - report.facts
        if not needs:
            return report
        wanted = deciding(needs) - report.facts
        facts = report.facts | (_facts(asked, wanted) if wanted else frozenset())
        return withdraw(report, facts, _imports(asked).around(path))

    def _data(self) -> bytes:
        if self._asked.is_stdin:
            return "".join(self._lines).encode("utf-8")
        return read_file(self._filename)  # the lines have lost their ends and their encoding


@lru_cache(maxsize=1)
def _resolver(asked: _Asked) -> SettingsResolver:
    codes = tuple(code for code in asked.selectors if code in all_rules())
    return SettingsResolver(Overrides(extend_select=codes, ignore_noqa=asked.disable_noqa))


def _found(asked: _Asked) -> list[FoundFile]:
    return [one for one in discover(asked.targets, _resolver(asked)) if isinstance(one, FoundFile)]


@lru_cache(maxsize=1)
def _reports(asked: _Asked) -> dict[Path, FileReport]:
    """What a run of amplint on the same paths says of each file: functions are judged as other files call them."""
    found = _found(asked)
    others = neighbours(found, asked.targets, _resolver(asked))
    return {item.path: report for item, report in zip(found, run(found, RunOptions(jobs=1), others=others))}


@lru_cache(maxsize=8)
def _facts(asked: _Asked, wanted: frozenset[str]) -> frozenset[str]:
    # flake8 has processes of its own.
    return establish(_project(asked), RunOptions(jobs=1), wanted)


@lru_cache(maxsize=1)
def _imports(asked: _Asked) -> RunImports:
    return RunImports(_project(asked))


def _project(asked: _Asked) -> list[FoundFile]:
    """The files of the run, and the others of their projects."""
    found = _found(asked)
    return [*found, *project_files(found, asked.targets, _resolver(asked))]
