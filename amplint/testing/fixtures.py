"""Fixtures: ordinary Python files whose comments say what amplint must find in them (the marks are in `amplint.testing`)."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from amplint.diagnostics import Diagnostic, FileReport, holding
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.rule import Rule
from amplint.source import Source

_MARK = re.compile(r"#\s*(expect|left|todo-clean|todo):([^#]*)")
_ITEM = re.compile(r"([A-Z]+\d{3,})(?: (safe|unsafe|display|none))?$")
_REASON = re.compile(r"\([^()]*\)\s*$")


class Marked(NamedTuple):
    """One finding as the marks know it: where, what, and how far its fix may be trusted."""

    row: int
    code: str
    applicability: str

    @classmethod
    def of(cls, diagnostic: Diagnostic) -> Marked:
        return cls(diagnostic.range.start.row, diagnostic.code, trust_in_fix(diagnostic))


def trust_in_fix(diagnostic: Diagnostic) -> str:
    """The applicability of a finding's fix, "none" without one."""
    return diagnostic.fix.applicability.value if diagnostic.fix else "none"


def is_fixable(diagnostic: Diagnostic) -> bool:
    """Whether `--fix --unsafe-fixes` would repair it."""
    return diagnostic.fix is not None and diagnostic.fix.is_applied()


@dataclass(frozen=True)
class Marks:
    """What the comments of a fixture say; todo marks are pairs of row and code, and so is what the fixes leave to do."""

    expect: Counter[Marked]
    todo: frozenset[tuple[int, str]]
    todo_clean: frozenset[tuple[int, str]]
    left: frozenset[tuple[int, str]] = frozenset()


@cache
def comment_tokens(text: str) -> tuple[tuple[int, str], ...]:
    """Row and text of every comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tuple((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)


def read_marks(text: str) -> Marks:
    """The marks of a fixture.

    Raises:
        ValueError: a mark that is not understood; the message names its row.
    """
    expect: Counter[Marked] = Counter()
    pairs: dict[str, set[tuple[int, str]]] = {"todo": set(), "todo-clean": set(), "left": set()}
    for row, comment in comment_tokens(text):
        for kind, body in _MARK.findall(comment):
            for item in _REASON.sub("", body).strip().split(","):
                match = _ITEM.match(item.strip())
                if match is None or (kind == "expect") != (match[2] is not None):
                    raise ValueError(f"row {row}: the mark {comment!r} is not understood")
                if kind == "expect":
                    expect[Marked(row, match[1], match[2])] += 1
                else:
                    pairs[kind].add((row, match[1]))
    return Marks(expect, frozenset(pairs["todo"]), frozenset(pairs["todo-clean"]), frozenset(pairs["left"]))


@dataclass(frozen=True)
class Fixture:
    """One fixture file, `flagged_<shape>.py` or `clean_<shape>.py`."""

    path: Path

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def code(self) -> str:
        """The code of the rule whose folder this is."""
        return self.path.parent.name.partition("_")[0].upper()

    @property
    def flagged(self) -> bool:
        """Whether something must be found in it."""
        return self.path.name.startswith("flagged_")

    @property
    def fixed_path(self) -> Path:
        """What all fixes make of it."""
        return self.path.with_suffix(".fixed.py")

    @cached_property
    def source(self) -> Source:
        """The file as it is."""
        return Source.from_bytes("/".join(self.path.parts[-3:]), self.path.read_bytes())

    @cached_property
    def report(self) -> FileReport:
        """What the rules say about it."""
        return lint_alone(self.source, self.rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The default rules, and the rule of the folder even when it is opt-in."""
        return rules_for(self.code)


@cache
def rules_for(code: str) -> tuple[Rule, ...]:
    """The default rules, and the rule `code` even when it is opt-in."""
    return tuple(rule for rule in load_rules() if rule.default or rule.code == code)


@cache
def lint_alone(source: Source, rules: tuple[Rule, ...]) -> FileReport:
    """The findings of a run over this one file, suppression comments aside; each text is linted once.

    Args:
        source: the file.
        rules: those that run.
    """
    report = lint_source(source, rules)
    held = tuple(diagnostic for diagnostic in report.diagnostics if diagnostic.needs <= holding(report.facts))
    return replace(report, diagnostics=held)


def linter_for(fixture: Fixture) -> Callable[[Source], FileReport]:
    """`lint_alone` with the rules of a fixture, as the fixer wants it."""
    return lambda source: lint_alone(source, fixture.rules)


def findings_as_marks(report: FileReport) -> Counter[Marked]:
    """The findings of a report as the marks know them."""
    return Counter(Marked.of(diagnostic) for diagnostic in report.diagnostics)


def fixture_paths(folder: Path, code: str = "") -> Iterator[Path]:
    """Every Python file of a folder of fixtures that is no `.fixed.py`: of all rules, or of one.

    Args:
        folder: it holds a folder for each rule, called as the module of the rule is.
        code: the code of the one rule; empty for all.
    """
    for path in sorted(folder.glob(f"{code.lower()}*/*.py")):
        if not path.name.endswith(".fixed.py"):
            yield path


def fixtures_in(folder: Path, code: str = "") -> list[Fixture]:
    """The fixtures of all rules, or of one; files whose names begin otherwise than a fixture's are none.

    Args:
        folder: it holds a folder for each rule, called as the module of the rule is.
        code: the code of the one rule; empty for all.
    """
    return [Fixture(path) for path in fixture_paths(folder, code) if path.name.startswith(("flagged_", "clean_"))]
