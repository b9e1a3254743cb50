"""`--since`: only findings on lines that have changed since a git revision are reported, and fixed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from amplint.cli.console import Console
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.diagnostics import FileReport
from amplint.engine.changed_lines import ChangedLines
from amplint.engine.config import ConfigError
from amplint.report.view import count
from amplint.source import Source
from amplint.system.revisions import RevisionError


class Since:
    """Takes from reports what stands on lines that are as they were.

    Args:
        wanted: the files of the run.
        revision: any name that git has for a commit or a tree.
        paths: what the user named: a revision must be one of there, even where nothing is found.

    Raises:
        ConfigError: it is none, or there is no repository.
    """

    def __init__(self, wanted: Targets, revision: str, paths: tuple[str, ...]) -> None:
        self._wanted = wanted
        self._items = {item.display: item for item in wanted.files}
        self._revision = revision
        self._lines = ChangedLines(revision)
        for path in paths:
            full = Path(os.path.abspath(path))
            folder = next(each for each in (full, *full.parents) if each.is_dir())
            try:
                self._lines.require(folder)
            except RevisionError as error:
                raise ConfigError(str(error)) from error

    def changed(self, source: Source, report: FileReport) -> FileReport:
        """The report on a file without the findings that nothing has changed about.

        Args:
            source: the text that the findings refer to.
            report: the report.

        Raises:
            ConfigError: the file lies in another repository, which does not know the revision.
        """
        path = self._items[report.path].path
        try:
            found = tuple(one for one in report.diagnostics if self._lines.concerns(one, path, source))
        except RevisionError as error:
            raise ConfigError(str(error)) from error
        return replace(report, diagnostics=found)

    def take_out(self, result: Result, console: Console) -> None:
        """Take out of a result what nothing has changed about, and say how much that is.

        Args:
            result: what was found.
            console: where it is said.

        Raises:
            ConfigError: a file lies in another repository, which does not know the revision.
        """
        hidden = 0
        for index, report in enumerate(result.reports):
            source = result.source(report.path, self._wanted.read) if report.diagnostics else None
            if source is not None:
                result.reports[index] = self.changed(source, report)
                hidden += len(report.diagnostics) - len(result.reports[index].diagnostics)
        result.hidden += hidden
        if hidden:
            console.note(f"Not shown: {count(hidden, 'finding')} on lines that are as they were at `{self._revision}`")
