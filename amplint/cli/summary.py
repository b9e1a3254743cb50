"""What a run came to, and the lines in which that is said at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from amplint.cli.console import Console
from amplint.cli.options import Options
from amplint.diagnostics import Applicability, Diagnostic, FileReport
from amplint.report.view import View, count
from amplint.source import Source
from amplint.system.text_encoding import SourceError


class Result:
    """A report for each file; how many fixes of each code were applied, by file; the texts that findings refer to.

    `hidden` is how many findings were taken out of the reports, for they are not new.
    """

    def __init__(self, reports: list[FileReport]) -> None:
        self.reports = reports
        self.fixed: dict[str, Counter[str]] = {}
        self.texts: dict[str, Source] = {}
        self.hidden = 0

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings, in order."""
        return [diagnostic for report in self.reports for diagnostic in report.diagnostics]

    def source(self, path: str, read: Callable[[Path], bytes]) -> Source | None:
        """The text that a path's findings refer to; None when it cannot be read any more.

        Args:
            path: the path as the user sees it.
            read: reads a file; it may raise an OSError.
        """
        if path not in self.texts:
            try:
                self.texts[path] = Source.from_bytes(path, read(Path(path)))
            except (OSError, SourceError):
                return None
        return self.texts[path]


def summarize(result: Result, options: Options, console: Console) -> None:
    """Tell the console what a run came to.

    Args:
        result: what the run came to.
        options: what was asked for.
        console: where it is said.
    """
    checked = sum(not report.error or bool(report.diagnostics) for report in result.reports)
    if options.show_fixes:
        for line in _fixes(result):
            console.note(line)
    if checked:
        for line in (*_lines(result, checked, options), *_next_steps(result, options)):
            console.note(line)
    for report in result.reports:
        for row, function, how in report.partly:
            console.detail(f"{report.path}:{row}: `{function}` {how}")
    console.detail(f"{checked} of {count(len(result.reports), 'file')} checked in {console.elapsed:.2f} s")


def _fixes(result: Result) -> Iterator[str]:
    from amplint.engine.registry import rule_index
    from amplint.engine.selection import names

    known = names(rule_index())
    for path, applied in result.fixed.items():
        yield f"{path}:"
        for code, number in sorted(applied.items()):
            yield f"    {number} x {code} ({known[code]})"


def _lines(result: Result, checked: int, options: Options) -> Iterator[str]:
    diagnostics = result.diagnostics
    done = sum(sum(applied.values()) for applied in result.fixed.values())
    where = f" in {count(len(result.fixed), 'file')}"
    if options.diff:
        verb = "suppress" if options.adds_comments else "fix"
        would = f"Would {verb} {count(done, 'finding')}{where}" if done else f"Nothing to {verb}"
        yield would + _more(diagnostics, options)
        return
    if done:
        yield f"{'Suppressed' if options.adds_comments else 'Fixed'} {count(done, 'finding')}{where}"
    if options.fix_only:
        if not done:
            yield "Nothing to fix"
        return
    noun = "new finding" if result.hidden else "finding"
    if not diagnostics:
        yield f"No {noun}s{' remain' if done else ''} in {count(checked, 'file')}"
        return
    total = count(len(diagnostics), noun)
    found = f"{total} {'remains' if len(diagnostics) == 1 else 'remain'}" if done else f"Found {total}"
    paths = len({diagnostic.path for diagnostic in diagnostics})
    yield f"{found} in {paths} of {count(checked, 'file')}{_more(diagnostics, options)}"
    if not (options.exit_zero or options.fails(diagnostics)):
        yield f"None of them counts for the exit code, which `--fail-on {options.fail_on}` sets"


def _next_steps(result: Result, options: Options) -> Iterator[str]:
    """What marks stand for, and where to read on: for whoever reads the report, not for programs."""
    read = any(one.is_for_people for one in options.outputs)
    if options.diff or options.fix_only or not result.diagnostics or not read:
        return
    from amplint.engine.suppression import ENGINE_CODES

    view = View(lambda path: None, options.unsafe_fixes)
    if options.statistics and any(view.applies(one.fix) for one in result.diagnostics):
        fix = "`--fix --unsafe-fixes`" if options.unsafe_fixes else "`--fix`"
        yield f"[*] {fix} repairs all of them, [-] some"
    for code, _ in Counter(one.code for one in result.diagnostics if one.code not in ENGINE_CODES).most_common(1):
        yield f"`amplint explain {code}` says why it matters and what to write instead"


def _more(diagnostics: list[Diagnostic], options: Options) -> str:
    """What further options would do to the findings."""
    trust = Counter(diagnostic.fix.applicability for diagnostic in diagnostics if diagnostic.fix)
    safe, unsafe = trust[Applicability.SAFE], trust[Applicability.UNSAFE]
    if options.unsafe_fixes:
        safe, unsafe = safe + unsafe, 0
    parts: list[str] = []
    if safe and not (options.fix or options.diff):
        parts.append(f"{safe} fixable with `--fix`")
    if unsafe:
        parts.append(f"{unsafe}{' more' if parts else ' fixable'} with `--unsafe-fixes`")
    return "; " + ", ".join(parts) if parts else ""
