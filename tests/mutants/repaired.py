"""Findings in fixtures, and their own fixes: what mutants are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fixture_harness import Fixture, fixtures_of

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.engine.registry import load_rules
from amplint.runtime.verify import Repair
from amplint.source import Source

TIMED = frozenset({"AMP401", "AMP402"})
"""Rules whose fixes are judged by the time that a GPU takes, and not at all without one."""


@dataclass(frozen=True)
class Repaired:
    """A finding in a fixture, and the text that its own fix, and no other, leaves."""

    fixture: Fixture
    diagnostic: Diagnostic

    @property
    def name(self) -> str:
        """The fixture and the row of the finding, as in data and reports."""
        return f"{self.fixture.path.name}:{self.diagnostic.range.start.row}"

    @cached_property
    def text(self) -> str:
        """The text with the fix."""
        return apply(self.fixture.source, [self.diagnostic])[0]

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of `text`."""
        return ast.parse(self.text)

    def repair(self, text: str) -> Repair:
        """Another text in the place of the fix.

        Args:
            text: the whole file, repaired in another way.
        """
        others = tuple(one for one in self.fixture.report.diagnostics if one != self.diagnostic)
        before = self.fixture.source
        return Repair(before, replace(before, text=text), self.diagnostic, others)

    def rows(self) -> set[int]:
        """The rows of `text` that the fix has changed, and that of the finding."""
        assert self.diagnostic.fix is not None
        changed, shift, found = set(), 0, self.diagnostic.range.start.offset
        moved = found
        for edit in sorted(self.diagnostic.fix.edits):
            start = edit.start + shift
            shift += len(edit.replacement) - (edit.end - edit.start)
            if edit.end <= found:
                moved = found + shift
            changed |= {self._row(start), self._row(max(start, edit.end + shift - 1))}
        return changed | {self._row(moved)}

    def _row(self, offset: int) -> int:
        return Source("", self.text).position(min(offset, len(self.text))).row


def observed_codes() -> list[str]:
    """The rules whose fixes a replay without a GPU can judge."""
    return [rule.code for rule in load_rules() if rule.observable is not None and rule.code not in TIMED]


def repaired_findings(codes: Sequence[str]) -> Iterator[Repaired]:
    """The findings that have a fix in the fixtures of their own rules.

    Args:
        codes: the rules.
    """
    for code in codes:
        for fixture in fixtures_of(code):
            for diagnostic in sorted(fixture.report.diagnostics, key=lambda each: each.sort_key):
                if diagnostic.code == code and diagnostic.fix is not None:
                    yield Repaired(fixture, diagnostic)
