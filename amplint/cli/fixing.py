"""The step of `amplint check` that changes files: fixes or suppresses, or shows what that would do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from amplint.cli.console import Console, say, say_bytes, wants_color
from amplint.cli.options import Options
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.diagnostics import FileReport
from amplint.engine.checker import check_again, with_location
from amplint.engine.discovery import FoundFile
from amplint.engine.file_replacement import Changed, FixError, write
from amplint.engine.fixer import FixOutcome, fix_source, fixable
from amplint.engine.suppression_edits import suppress_source, suppressible
from amplint.facts.driving_facts import OF_A_PROJECT, is_about
from amplint.model.caller_contexts import FromElsewhere
from amplint.model.records import NamedTuple, frozen
from amplint.report import diff
from amplint.report.view import View
from amplint.source import Source
from amplint.system.text_encoding import SourceError

_TRIES = 5
"""How often a file is fixed anew because another program changed it meanwhile."""


class _Repaired(NamedTuple):
    """A file's text and bytes, and what fixing made of them."""

    source: Source
    data: bytes
    outcome: FixOutcome

    @property
    def new(self) -> bytes:
        """The bytes of the fixed file."""
        return self.source.encode(self.outcome.text)


Narrow = Callable[[Source, FileReport], FileReport]
"""Takes from a report what is not to be fixed."""


@frozen
class _Fixing:
    """A file that is to be fixed.

    Attributes:
        item: the file.
        wanted: the files of the run, of which one may be standard input.
        options: what was asked for.
        narrowings: take from a report, one after the other, what is not to be fixed.
        facts: what holds for the project.
        entered: the contexts in which other files call functions of this one.
    """

    item: FoundFile
    wanted: Targets
    options: Options
    narrowings: Sequence[Narrow]
    facts: frozenset[str]
    entered: tuple[FromElsewhere, ...]

    def fixed(self) -> _Repaired:
        """Fix it, on disk if that is wanted. What another program makes of it meanwhile is read, and fixed if need be."""
        for _ in range(_TRIES):
            repaired = self._repair()
            if not repaired.outcome.applied or self.options.diff or self.wanted.stdin is not None:
                return repaired
            with suppress(Changed):
                write(self.item.path, repaired.data, repaired.new, self.item.others)
                return repaired
        raise FixError("is changed again and again by another program; not fixed")

    def _repair(self) -> _Repaired:
        item = self.item
        try:
            data = self.wanted.read(item.path)
            source = with_location(Source.from_bytes(item.display, data), item.settings, item.path, self.entered)
        except OSError as error:
            raise FixError(f"cannot be read: {error.strerror or error}") from error
        except SourceError as error:
            raise FixError(str(error)) from error
        if self.options.adds_comments:
            own = self.options.add_ignore is not None
            return _Repaired(source, data, suppress_source(source, self._lint, own, self.options.reason))
        return _Repaired(source, data, fix_source(source, self._lint, self.options.unsafe_fixes))

    def _lint(self, source: Source) -> FileReport:
        report = check_again(source, self.item.settings, self.item.path, self.entered, self.facts)
        for narrow in self.narrowings:
            report = narrow(source, report)
        return report


def fix_all(
    wanted: Targets, result: Result, options: Options, console: Console, narrowings: Sequence[Narrow] = ()
) -> None:
    """Fix, or suppress, what can be, and bring `result` up to date; with `--diff`, print what would change instead.

    The text of stdin goes to stdout, fixed or not.

    Args:
        wanted: the files.
        result: what linting them came to.
        options: what was asked for.
        console: hears of what cannot be fixed.
        narrowings: take from a report, one after the other, what is not to be fixed.
    """
    facts = frozenset(fact for report in result.reports for fact in report.facts)
    printed = wanted.stdin
    for index, item in enumerate(wanted.files):
        if not _changeable(result.reports[index], options):
            continue
        try:
            if item.leads_out:
                raise FixError("is a link that leads out of the given paths; not fixed")
            report = result.reports[index]
            # What a finding needs that was not withdrawn, the project establishes; of what it trains in, only that counts.
            needed = report.facts.union(*(each.needs for each in report.diagnostics))
            known = needed.union(fact for fact in facts if not is_about(fact, OF_A_PROJECT - needed))
            repaired = _Fixing(item, wanted, options, narrowings, known, report.entered).fixed()
        except FixError as error:
            console.problem(item.display, str(error))
            continue
        if repaired.outcome.error:
            console.warning(item.display, repaired.outcome.error)
        result.reports[index] = repaired.outcome.report
        if not repaired.outcome.applied:
            continue
        if options.diff:
            _print_diff(repaired, wants_color(options.color, sys.stdout))
        printed = None if printed is None else repaired.new
        result.fixed[item.display] = repaired.outcome.applied
        result.texts[item.display] = Source.from_bytes(item.display, repaired.new)
    if printed is not None and not options.diff:
        say_bytes(printed)


def _changeable(report: FileReport, options: Options) -> bool:
    return bool(suppressible(report) if options.adds_comments else fixable(report, options.unsafe_fixes))


def _print_diff(repaired: _Repaired, color: bool) -> None:
    """Print what would change: for people made safe to show, for `git apply` and `patch`, which read a pipe, exact."""
    view = View(lambda path: None, color=color) if color or sys.stdout.isatty() else None
    path, before, after = repaired.source.path, repaired.source.text, repaired.outcome.text
    changes = [(path, before, after)]
    notebook = repaired.source.notebook
    if notebook is not None:
        names = [f"{path}:cell {number}" for number in notebook.numbers]
        changes = list(zip(names, notebook.written(before), notebook.written(after)))
    for name, old, new in changes:
        for line in diff.unified(old, new, name):
            shown = line if view is None else view.paint(line.rstrip("\r\n"), diff.style(line), tabs=True) + "\n"
            say(sys.stdout, shown)
