"""The baselines of a run: what they hold is neither reported nor fixed; `--update-baseline` writes them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from amplint.cli.console import Console
from amplint.cli.options import Options
from amplint.cli.reporting import refuse_to_overwrite, write_file
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.diagnostics import FileReport
from amplint.engine.baseline import (
    LIMIT,
    Baseline,
    BaselineError,
    KnownFinding,
    known_by,
    read_baseline,
    sort_out,
    written,
)  # fmt: skip
from amplint.engine.config import ConfigError
from amplint.engine.discovery import FoundFile
from amplint.engine.registry import rule_index
from amplint.engine.selection import active_codes
from amplint.model.records import NamedTuple
from amplint.report.view import count
from amplint.source import Source
from amplint.system.reading import read_file, shown_path

_Entries = Counter[KnownFinding]


class _Book(NamedTuple):
    """A baseline on the disk, and what it holds of files that are no longer there."""

    path: Path
    findings: Baseline
    gone: _Entries

    @property
    def display(self) -> str:
        """Its path, for messages."""
        return shown_path(self.path)

    def name_of(self, item: FoundFile) -> str:
        """What a file is called in it."""
        return Path(os.path.relpath(item.path, self.path.parent)).as_posix()


class Baselines:
    """The baseline of each file of a run: that of the command line, else that of its settings, if there is one.

    Args:
        wanted: the files.
        options: what was asked for.

    Raises:
        ConfigError: a baseline is none, or is missing where it is to be read.
        click.UsageError: one would take the place of code, or of the report.
    """

    def __init__(self, wanted: Targets, options: Options) -> None:
        self._wanted = wanted
        self._chosen = options.baseline
        self._items = {item.display: item for item in wanted.files}
        paths = {path for item in wanted.files if (path := self._path_of(item)) is not None}
        if options.baseline is not None:
            paths.add(Path(os.path.abspath(options.baseline)))
        if options.update_baseline:
            outputs = [(one.option, one.path) for one in options.outputs]
            refuse_to_overwrite(wanted, [*outputs, *(("--baseline", path) for path in paths)])
        self._books = {path: _read(path, options.update_baseline) for path in sorted(paths)}

    def __bool__(self) -> bool:
        return bool(self._books)

    def _path_of(self, item: FoundFile) -> Path | None:
        if self._chosen is not None:
            return Path(os.path.abspath(self._chosen))
        return item.settings.root / item.settings.baseline if item.settings.baseline else None

    def _book_of(self, item: FoundFile) -> _Book | None:
        path = self._path_of(item)
        return None if path is None else self._books[path]

    def unknown(self, source: Source, report: FileReport) -> FileReport:
        """The report on a file without the findings that are known.

        Args:
            source: the text that the findings refer to.
            report: the report.
        """
        book = self._book_of(self._items[report.path])
        if book is None:
            return report
        return self._compared(book, source, report)[0]

    def _checked(self, result: Result) -> Iterator[tuple[int, FoundFile, _Book, Source | None]]:
        """The files that have a baseline and could be checked, by their places in a result; of those with findings the text."""
        for index, (item, report) in enumerate(zip(self._wanted.files, result.reports)):
            book = self._book_of(item)
            source = result.source(report.path, self._wanted.read) if report.diagnostics else None
            if book is not None and not report.error and (source is not None or not report.diagnostics):
                yield index, item, book, source

    def _compared(
        self, book: _Book, source: Source | None, report: FileReport
    ) -> tuple[FileReport, _Entries, _Entries]:
        """The report without what is known, what of the file was not found, and what was found of files that are gone."""
        name = book.name_of(self._items[report.path])
        known = book.findings.get(name)
        entries = [(one, known_by(one, source)) for one in report.diagnostics] if source is not None else []
        found = sort_out(entries, known or Counter(), book.gone if known is None else Counter())
        return replace(report, diagnostics=tuple(found.unknown)), found.left, found.moved

    def take_out(self, result: Result, console: Console) -> None:
        """Take the known findings out of a result, and say how many they are, and how many are fixed.

        Args:
            result: what was found.
            console: where it is said.
        """
        known: Counter[Path] = Counter()
        fixed = {path: book.gone.copy() for path, book in self._books.items()}
        for index, item, book, source in self._checked(result):
            report = result.reports[index]
            result.reports[index], left, moved = self._compared(book, source, report)
            known[book.path] += len(report.diagnostics) - len(result.reports[index].diagnostics)
            fixed[book.path] += _reported_at_all(left, item)
            fixed[book.path] -= moved
        result.hidden += known.total()
        for path, book in self._books.items():
            if known[path]:
                console.note(f"Not shown: {count(known[path], 'known finding')} of {book.display}")
            if fixed[path]:
                number = fixed[path].total()
                verb = "is" if number == 1 else "are"
                console.note(
                    f"{count(number, 'finding')} of {book.display} {verb} fixed: update it with `--update-baseline`"
                )

    def update(self, result: Result, console: Console) -> None:
        """Write down what was found, in place of what was known of these files before, and take it out of the result.

        Args:
            result: what was found, after fixing.
            console: hears what has changed, and what cannot be written.
        """
        found: dict[Path, Baseline] = {path: {} for path in self._books}
        checked: dict[Path, Baseline] = {path: {} for path in self._books}
        for index, item, book, source in self._checked(result):
            report = result.reports[index]
            before = book.findings.get(book.name_of(item), Counter())
            checked[book.path][book.name_of(item)] = _reported_at_all(before, item)
            if source is not None:
                found[book.path][book.name_of(item)] = Counter(known_by(one, source) for one in report.diagnostics)
                result.reports[index] = replace(report, diagnostics=())
        for path, book in self._books.items():
            self._write(book, checked[path], found[path], console)

    def _write(self, book: _Book, checked: Baseline, found: Baseline, console: Console) -> None:
        there = {name: entries for name, entries in book.findings.items() if (book.path.parent / name).exists()}
        new = {
            name: there.get(name, Counter()) - checked.get(name, Counter()) + found.get(name, Counter())
            for name in there.keys() | found.keys()
        }
        before, after = (_without_surroundings(each) for each in (book.findings, new))
        write_file(book.path, written(new), console)
        if not console.failed:
            added, dropped = (after - before).total(), (before - after).total()
            console.note(f"{book.display}: {count(after.total(), 'finding')} ({added} added, {dropped} dropped)")


def _without_surroundings(baseline: Baseline) -> Counter[tuple[str, str, str]]:
    pairs = ((name, entry, times) for name, entries in baseline.items() for entry, times in entries.items())
    found: Counter[tuple[str, str, str]] = Counter()
    for name, entry, times in pairs:
        found[name, entry.code, entry.line] += times
    return found


def _reported_at_all(entries: _Entries, item: FoundFile) -> _Entries:
    """What this run would report of the entries of a file, were they still there."""
    if not entries:
        return entries
    active = active_codes(item.settings, item.path, rule_index())
    return Counter({entry: times for entry, times in entries.items() if entry.code in active})


def _read(path: Path, may_be_missing: bool) -> _Book:
    try:
        findings = read_baseline(read_file(path, LIMIT))
    except FileNotFoundError as error:
        if not may_be_missing:
            raise ConfigError(
                f"{shown_path(path)}: there is no such baseline; `--update-baseline` writes one"
            ) from error
        findings = {}
    except OSError as error:
        raise ConfigError(f"{shown_path(path)}: cannot be read: {error.strerror or error}") from error
    except BaselineError as error:
        raise ConfigError(f"{shown_path(path)}: {error}") from error
    gone: _Entries = Counter()
    for name, entries in findings.items():
        if not (path.parent / name).exists():
            gone += entries
    return _Book(path, findings, gone)
