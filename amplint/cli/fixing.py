"""The step of `amplint check` that fixes: from a file's report to its new text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amplint.diagnostics import Applicability, FileReport
from amplint.fixer import FixError, FixOutcome, fix_source, write
from amplint.report import diff
from amplint.source import Source, SourceError

if TYPE_CHECKING:
    from amplint.discovery import Found


@dataclass(frozen=True)
class Repaired:
    """A file after fixing: its text before, and what fixing made of it."""

    source: Source
    data: bytes
    outcome: FixOutcome

    @property
    def changed(self) -> bool:
        """Whether the text is another one now."""
        return self.outcome.text != self.source.text

    def diff(self) -> Iterator[str]:
        """What changed, as lines of a unified diff."""
        return diff.unified(self.source.text, self.outcome.text, self.source.path)


def fixable(report: FileReport, unsafe: bool) -> bool:
    """Whether a report holds a fix to apply."""
    trusted = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    return any(one.fix is not None and one.fix.applicability in trusted for one in report.diagnostics)


def repair(item: Found, read: Callable[[Found], bytes], facts: frozenset[str], unsafe: bool) -> Repaired:
    """Fix a file's text; writes nothing.

    Raises:
        FixError: the file cannot be read any more.
    """
    from amplint.runner import check_source, withdraw

    def lint(source: Source) -> FileReport:
        return withdraw(check_source(source, item.settings, item.path), facts)

    try:
        data = read(item)
        source = Source.from_bytes(item.display, data)
    except OSError as error:
        raise FixError(f"cannot be read: {error.strerror or error}") from error
    except SourceError as error:
        raise FixError(str(error)) from error
    return Repaired(source, data, fix_source(source, lint, unsafe))


def save(item: Found, repaired: Repaired) -> None:
    """Write the new text where the old one was.

    Raises:
        FixError: the file changed meanwhile, or cannot be written.
    """
    write(item.path, repaired.data, repaired.source.encode(repaired.outcome.text))


def after(repaired: Repaired) -> Source:
    """The fixed file as a source."""
    return replace(repaired.source, text=repaired.outcome.text)
