"""`amplint check`: find, fix, report."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console, say, wants_color
from amplint.cli.options import Options, check_options
from amplint.config import ConfigError, Settings, SettingsResolver
from amplint.diagnostics import Diagnostic, FileReport
from amplint.discovery import Excluded, Found, Problem, discover
from amplint.registry import RegistryError, rule_index
from amplint.report import View, renderer
from amplint.runner import RunOptions, check_bytes, run, withdraw
from amplint.selection import active_codes, check_selectors, names
from amplint.source import Source, SourceError

if TYPE_CHECKING:
    from amplint.cli.fixing import Repaired

STDIN = "-"


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@check_options
def check(**values: Any) -> int:
    """Check files and folders (the current one when none is named); `-` reads stdin.

    Findings go to stdout, all else to stderr. Exit code: 0 nothing found, 1 findings, 2 something was not checked.
    """
    options = Options(**values)
    console = Console(options.quiet, options.verbose, options.color)
    try:
        return _Run(options, console).run()
    except (ConfigError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


@dataclass
class _Result:
    """What a run came to: a report for each file; what was fixed, by file; the texts that differ from those on disk."""

    reports: list[FileReport]
    fixed: dict[str, Counter[str]] = field(default_factory=dict)
    texts: dict[str, Source] = field(default_factory=dict)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings, in order."""
        return [diagnostic for report in self.reports for diagnostic in report.diagnostics]


class _Run:
    """One run of `amplint check`."""

    def __init__(self, options: Options, console: Console) -> None:
        self._options = options
        self._console = console
        self._stdin: bytes | None = None
        known = names(rule_index())
        for option in ("select", "ignore", "extend-select"):
            check_selectors(getattr(options, option.replace("-", "_")), known, f"--{option}")
        for _, selectors in options.per_file_ignores:
            check_selectors(selectors, known, "--per-file-ignores")
        self._resolver = SettingsResolver(options.overrides, options.config, options.isolated)

    def run(self) -> int:
        """Do it all; returns the exit code."""
        items = self._items()
        result = _Result(self._reports(items))
        for report in result.reports:
            if report.error:
                self._console.problem(report.path, report.error)
        if self._options.fix or self._options.diff:
            self._fix(items, result)
        if not self._options.diff:
            self._report(result)
        self._summary(result)
        return self._exit_code(result)

    # -- what to check, and what there is to say about it -------------------------------------------------------------

    def _items(self) -> list[Found]:
        paths = self._options.paths or (".",)
        if STDIN in paths:
            if len(paths) > 1:
                raise click.UsageError("`-` cannot be combined with other paths")
            return self._stdin_item()
        sound: dict[Settings, bool] = {}
        items: list[Found] = []
        excluded: list[str] = []
        for item in discover(paths, self._resolver):
            if isinstance(item, Problem):
                self._console.problem(item.display, item.message)
            elif isinstance(item, Excluded):
                excluded.append(item.display)
            elif self._is_sound(item, sound):
                items.append(item)
        if excluded:
            shown = ", ".join(excluded[:3]) + (f" and {len(excluded) - 3} more" if len(excluded) > 3 else "")
            self._console.note(f"Excluded by the settings: {shown}")
        elif not items and not self._console.failed:
            self._console.warning("", "no Python files found under the given paths")
        return items

    def _is_sound(self, item: Found, sound: dict[Settings, bool]) -> bool:
        """Whether the settings of a file can be used: its selectors are known, its patterns are some."""
        if item.settings not in sound:
            try:
                active_codes(item.settings, item.path, rule_index())
            except ConfigError as error:
                self._console.problem("", str(error))
                sound[item.settings] = False
            else:
                sound[item.settings] = True
        return sound[item.settings]

    def _stdin_item(self) -> list[Found]:
        display = self._options.stdin_filename or STDIN
        path = Path(os.path.abspath(self._options.stdin_filename or "stdin.py"))
        settings = self._resolver.for_file(path)
        self._stdin = sys.stdin.buffer.read()
        if settings.excludes(str(path)):
            self._console.note(f"Excluded by the settings: {display}")
            if self._options.fix and not self._options.diff:
                self._emit_bytes(self._stdin)
            return []
        return [Found(path, display, settings, explicit=True)]

    def _reports(self, items: list[Found]) -> list[FileReport]:
        if self._stdin is not None:
            reports = [check_bytes(one.display, self._stdin, one.settings, one.path, explicit=True) for one in items]
            return [withdraw(report, report.facts) for report in reports]
        options = RunOptions(self._options.jobs, self._options.cache_dir, self._options.no_cache)
        try:
            return list(run(items, options, self._console.progress))
        finally:
            self._console.end_progress()

    def _read(self, item: Found) -> bytes:
        return item.path.read_bytes() if self._stdin is None else self._stdin

    # -- fixing -------------------------------------------------------------------------------------------------------

    def _fix(self, items: list[Found], result: _Result) -> None:
        from amplint.cli.fixing import fixable, repair
        from amplint.fixer import FixError

        facts = frozenset(fact for report in result.reports for fact in report.facts)
        for index, item in enumerate(items):
            report, repaired = result.reports[index], None
            try:
                if not report.error and fixable(report, self._options.unsafe_fixes):
                    repaired = repair(item, self._read, facts, self._options.unsafe_fixes)
                    self._take(item, repaired, index, result)
            except FixError as error:
                self._console.problem(item.display, str(error))
            if self._stdin is not None and not self._options.diff and (repaired is None or not repaired.changed):
                self._emit_bytes(self._stdin)

    def _take(self, item: Found, repaired: Repaired, index: int, result: _Result) -> None:
        from amplint.cli.fixing import after, save

        if repaired.outcome.error:
            self._console.warning(item.display, repaired.outcome.error)
        if not repaired.changed:
            return
        if self._options.diff:
            self._emit_diff(repaired)
        elif self._stdin is not None:
            self._emit_bytes(repaired.source.encode(repaired.outcome.text))
        else:
            save(item, repaired)
        result.fixed[item.display] = repaired.outcome.applied
        result.reports[index] = repaired.outcome.report
        result.texts[item.display] = after(repaired)

    def _emit_diff(self, repaired: Repaired) -> None:
        from amplint.report.diff import style

        view = View(lambda path: None, color=wants_color(self._options.color, sys.stdout))
        for line in repaired.diff():
            kind = style(line)
            text = line.rstrip("\r\n")
            say(sys.stdout, view.paint(text, kind) + line[len(text) :] if kind else line)

    def _emit_bytes(self, data: bytes) -> None:
        sys.stdout.flush()
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    # -- reporting ----------------------------------------------------------------------------------------------------

    def _source(self, result: _Result, path: str) -> Source | None:
        if path not in result.texts:
            try:
                data = self._stdin if self._stdin is not None else Path(path).read_bytes()
                result.texts[path] = Source.from_bytes(path, data)
            except (OSError, SourceError):
                return None
        return result.texts[path]

    def _report(self, result: _Result) -> None:
        options = self._options
        # The fixed text has stdout for itself.
        stream = sys.stderr if self._stdin is not None and options.fix else sys.stdout
        color = wants_color("never" if options.output_file and options.color == "auto" else options.color, stream)
        view = View(lambda path: self._source(result, path), options.unsafe_fixes, color)
        text = self._text(result.diagnostics, view)
        if options.output_file is None:
            for piece in text:
                say(stream, piece)
            return
        try:
            options.output_file.write_text("".join(text), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            self._console.problem(str(options.output_file), f"cannot be written: {error.strerror or error}")

    def _text(self, diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
        if not self._options.statistics:
            return renderer(self._options.output_format)(diagnostics, view)
        from amplint.report import statistics

        render = statistics.render_json if self._options.output_format.startswith("json") else statistics.render
        return render(diagnostics, view)

    def _summary(self, result: _Result) -> None:
        from amplint.cli import summary

        options, console = self._options, self._console
        if options.show_fixes:
            for line in summary.fixes(result.fixed, names(rule_index())):
                console.note(line)
        checked = sum(not report.error for report in result.reports)
        if checked or result.fixed:
            diagnostics = result.diagnostics
            for line in summary.lines(diagnostics, result.fixed, checked, options):
                console.note(line)
        console.detail(f"{checked} files in {console.elapsed:.2f} s")

    def _exit_code(self, result: _Result) -> int:
        if self._console.failed:
            return FAILED
        if self._options.diff:
            return FINDINGS if result.fixed else CLEAN
        if self._options.exit_zero:
            return CLEAN
        remains = bool(result.diagnostics) or self._options.exit_non_zero_on_fix and bool(result.fixed)
        return FINDINGS if remains else CLEAN
