"""Findings in fixtures, and their own fixes: what mutants are made of."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import cached_property

from fixture_harness import fixtures_of

from amplint.diagnostics import Diagnostic
from amplint.engine.fixed_text import apply
from amplint.engine.registry import load_rules
from amplint.runtime.repairs import Repair
from amplint.source import Source
from amplint.testing import Fixture

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
        return Repair(self.fixture.source, replace(self.fixture.source, text=text), self.diagnostic, others)

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


def flagged_fixtures(code: str) -> list[Fixture]:
    """The fixtures of a rule in which it finds something."""
    return [fixture for fixture in fixtures_of(code) if fixture.flagged]


def repaired_findings(fixture: Fixture) -> list[Repaired]:
    """The findings in a fixture that have a fix, of the rule whose fixture it is; in the order of their places."""
    found = sorted(fixture.report.diagnostics, key=lambda each: each.sort_key)
    return [Repaired(fixture, one) for one in found if one.code == fixture.code and one.fix is not None]
