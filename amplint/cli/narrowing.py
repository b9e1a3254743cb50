"""Which findings of a run are new to a team: those that no baseline knows, on lines that have changed."""

from __future__ import annotations

import click

from amplint.cli.baselines import Baselines
from amplint.cli.console import Console
from amplint.cli.options import STDIN, Options
from amplint.cli.since import Since
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.diagnostics import FileReport
from amplint.source import Source


class Narrowing:
    """Takes from reports what is not new; nothing, where nobody asked for that.

    Args:
        wanted: the files of the run.
        options: what was asked for.

    Raises:
        ConfigError: a baseline or a revision is of no use.
        click.UsageError: options contradict each other.
    """

    def __init__(self, wanted: Targets, options: Options) -> None:
        self._update = options.update_baseline
        self._baselines = Baselines(wanted, options)
        if self._update:
            _refuse_update(options, bool(self._baselines))
        self._since = None if options.since is None else Since(wanted, options.since, options.paths or (".",))

    def begin(self, result: Result, console: Console) -> None:
        """Take out of a result what is not to be reported, nor fixed.

        Args:
            result: what was found.
            console: hears what was taken out.
        """
        if not self._update:
            self._baselines.take_out(result, console)
        if self._since is not None:
            self._since.take_out(result, console)

    def new(self, source: Source, report: FileReport) -> FileReport:
        """The report on a file, which may have been fixed meanwhile, without what is not to be reported, nor fixed.

        Args:
            source: the text that the findings refer to.
            report: the report.
        """
        report = report if self._update else self._baselines.unknown(source, report)
        return report if self._since is None else self._since.changed(source, report)

    def end(self, result: Result, console: Console) -> None:
        """Write the baselines, if they are to be updated; then there is nothing left to report.

        Args:
            result: what was found, and not fixed.
            console: hears what has become of the baselines.
        """
        if self._update:
            self._baselines.update(result, console)


def _refuse_update(options: Options, is_there_one: bool) -> None:
    if not is_there_one:
        raise click.UsageError("`--update-baseline` needs `--baseline FILE`, or the setting `baseline`")
    if options.diff:
        raise click.UsageError("`--update-baseline` writes, and `--diff` only shows: one of them")
    if options.reads_stdin:
        raise click.UsageError(f"`--update-baseline` is for files, and `{STDIN}` is none")
    if options.since is not None:
        raise click.UsageError("`--update-baseline` writes down all findings, and `--since` hides some: one of them")
