"""amplint inside flake8: the same findings, in the same places, under amplint's own configuration."""

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
from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes, is_concerned, withdraw
from amplint.engine.config import ConfigError, Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.neighbours import neighbours, project_files
from amplint.engine.registry import RegistryError
from amplint.engine.runner import RunOptions, establish, run
from amplint.report.escape import printable
from amplint.system import installed
from amplint.system.reading import read_file

NOT_CHECKED = "AMP900"
"""The code for a file that amplint could not check; flake8 itself reports syntax errors, as E999."""

Violation = tuple[int, int, str, type["Plugin"]]


class Plugin:
    """What flake8 makes for every file; the arguments are named as flake8 wants them."""

    name = "amplint"
    version = __version__
    _paths: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Learn which files the run is about; flake8 calls this once in every process."""
        cls._paths = tuple(options.filenames)

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
        path = Path(os.path.abspath(self._filename))
        settings = _resolver().for_file(path)
        if settings.excludes(str(path)):
            return FileReport(self._filename)
        data = self._data()
        if "-" not in self._paths and is_concerned(data, settings, path):
            known = _reports(self._paths).get(path)
            if known is not None:
                return replace(known, path=self._filename)
        report = check_bytes(self._filename, data, settings, path)
        needed = frozenset(fact for diagnostic in report.diagnostics for fact in diagnostic.needs) - report.facts
        return withdraw(report, report.facts | _facts(self._paths, needed)) if needed else report

    def _data(self) -> bytes:
        if "-" in self._paths:
            return "".join(self._lines).encode("utf-8")
        return read_file(self._filename)  # the lines have lost their ends and their encoding


@lru_cache(maxsize=1)
def _resolver() -> SettingsResolver:
    return SettingsResolver(Overrides())


@lru_cache(maxsize=1)
def _reports(paths: tuple[str, ...]) -> dict[Path, FileReport]:
    """What a run of amplint on the same paths says of each file: functions are judged as other files call them."""
    named = paths or (".",)
    found = [one for one in discover(named, _resolver()) if isinstance(one, FoundFile)]
    others = neighbours(found, named, _resolver())
    return {item.path: report for item, report in zip(found, run(found, RunOptions(jobs=1), others=others))}


@lru_cache(maxsize=8)
def _facts(paths: tuple[str, ...], wanted: frozenset[str]) -> frozenset[str]:
    named = paths or (".",)
    found = [one for one in discover(named, _resolver()) if isinstance(one, FoundFile)]
    # flake8 has processes of its own.
    return establish([*found, *project_files(found, named, _resolver())], RunOptions(jobs=1), wanted)
