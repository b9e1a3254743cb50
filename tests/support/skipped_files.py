"""Which test files a run skips anything of, so that a run elsewhere takes just these."""

from __future__ import annotations

from pathlib import Path

import pytest


class SkippedFiles:
    """A plugin of pytest, which writes down the files of which a run skips a test, or all.

    Args:
        path: where they are written, one a line, as pytest names them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._files.add(report.nodeid.partition("::")[0])

    def pytest_sessionfinish(self) -> None:
        self._path.write_text("".join(f"{file}\n" for file in sorted(self._files)), encoding="utf-8")
