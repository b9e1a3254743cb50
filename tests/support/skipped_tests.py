"""Which tests a run without PyTorch skips for want of it, so that a run with it takes just these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

TRACE = ("torch", "bokeh")
"""What the extra `trace` brings; a test that needs one of them skips itself by `pytest.importorskip`."""
_FOR_WANT = re.compile(rf"\b(?:{'|'.join(TRACE)})\b")


class SkippedTests:
    """A plugin of pytest, which writes down the tests, and whole files, that a run skips for want of something of `TRACE`.

    The reason of the skip names it. What is skipped for another reason (root, the system, a program that is not there) would
    be skipped with PyTorch, too.

    Args:
        path: where they are written, one a line, as pytest names them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple) and _FOR_WANT.search(report.longrepr[2]):
            self._names.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._path.write_text("".join(f"{name}\n" for name in sorted(self._names)), encoding="utf-8")


class Noted(NamedTuple):
    """The tests that a file names, one a line: single ones, a function with all its parameters, or all of a file."""

    names: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> Noted:
        """Those that `SkippedTests` has written, or somebody by hand."""
        return cls(frozenset(path.read_text(encoding="utf-8").splitlines()))

    @property
    def files(self) -> frozenset[str]:
        """The files in which they are."""
        return frozenset(_file(name) for name in self.names)

    def split(self, items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
        """Those of some tests that are named, and the others."""
        chosen: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            names = (item.nodeid, item.nodeid.partition("[")[0], _file(item.nodeid))
            (others if self.names.isdisjoint(names) else chosen).append(item)
        return chosen, others


def _file(name: str) -> str:
    return name.partition("::")[0]
