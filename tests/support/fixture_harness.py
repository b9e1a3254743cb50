"""Fixtures: ordinary Python files whose comments say what amplint must find in them (the marks are in CONTRIBUTING.md)."""

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

from checkout import ROOT

from amplint.diagnostics import Applicability, Diagnostic, FileReport
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.rule import Rule
from amplint.source import Source

FIXTURES = ROOT / "fixtures"

DRESSED = 3
"""The fixtures of each rule that are checked in every dress; all of them are with `--all-dresses`."""

_MARK = re.compile(r"#\s*(expect|left|todo-clean|todo):([^#]*)")
_ITEM = re.compile(r"(AMP\d{3})(?: (safe|unsafe|display|none))?$")
_REASON = re.compile(r"\([^()]*\)\s*$")


class Found(NamedTuple):
    """One finding as the marks know it: where, what, and how far its fix may be trusted."""

    row: int
    code: str
    applicability: str

    @classmethod
    def of(cls, diagnostic: Diagnostic) -> Found:
        return cls(diagnostic.range.start.row, diagnostic.code, applicability(diagnostic))


def applicability(diagnostic: Diagnostic) -> str:
    """The applicability of a finding's fix, "none" without one."""
    return diagnostic.fix.applicability.value if diagnostic.fix else "none"


def fixable(diagnostic: Diagnostic) -> bool:
    """Whether `--fix --unsafe-fixes` would repair it."""
    return diagnostic.fix is not None and diagnostic.fix.applicability is not Applicability.DISPLAY


@dataclass(frozen=True)
class Marks:
    """What the comments of a fixture say; todo marks are pairs of row and code, and so is what the fixes leave to do."""

    expect: Counter[Found]
    todo: frozenset[tuple[int, str]]
    todo_clean: frozenset[tuple[int, str]]
    left: frozenset[tuple[int, str]] = frozenset()


def comments(text: str) -> list[tuple[int, str]]:
    """Row and text of every comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def read_marks(text: str) -> Marks:
    """The marks of a fixture.

    Raises:
        ValueError: a mark that is not understood; the message names its row.
    """
    expect: Counter[Found] = Counter()
    pairs: dict[str, set[tuple[int, str]]] = {"todo": set(), "todo-clean": set(), "left": set()}
    for row, comment in comments(text):
        for kind, body in _MARK.findall(comment):
            for item in _REASON.sub("", body).strip().split(","):
                match = _ITEM.match(item.strip())
                if match is None or (kind == "expect") != (match[2] is not None):
                    raise ValueError(f"row {row}: the mark {comment!r} is not understood")
                if kind == "expect":
                    expect[Found(row, match[1], match[2])] += 1
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
        return Source.from_bytes(self.path.relative_to(ROOT).as_posix(), self.path.read_bytes())

    @cached_property
    def report(self) -> FileReport:
        """What the rules say about it."""
        return lint(self.source, self.rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The default rules, and the rule of the folder even when it is opt-in."""
        return rules_for(self.code)


@cache
def rules_for(code: str) -> tuple[Rule, ...]:
    """The default rules, and the rule `code` even when it is opt-in."""
    return tuple(rule for rule in load_rules() if rule.default or rule.code == code)


def fixture_files(code: str = "") -> Iterator[Path]:
    """Every Python file of the fixtures that is no `.fixed.py`: of all rules, or of one."""
    for path in sorted(FIXTURES.glob(f"{code.lower()}*/*.py")):
        if not path.name.endswith(".fixed.py"):
            yield path


def fixtures_of(code: str = "") -> list[Fixture]:
    """The fixtures of all rules, or of one; a file with another kind of name is reported by `test_meta.py`."""
    return [Fixture(path) for path in fixture_files(code) if path.name.startswith(("flagged_", "clean_"))]


@cache
def dressed(code: str) -> frozenset[Fixture]:
    """The fixtures of a rule that are checked in every dress even where not all are: the longest that can be fixed."""
    flagged = [fixture for fixture in fixtures_of(code) if fixture.flagged]
    flagged.sort(key=lambda each: (each.fixed_path.exists(), each.path.stat().st_size, each.path), reverse=True)
    return frozenset(flagged[:DRESSED])


@cache
def lint(source: Source, rules: tuple[Rule, ...]) -> FileReport:
    """The findings of a run over this one file, suppression comments aside; each text is linted once."""
    report = lint_source(source, rules)
    held = tuple(diagnostic for diagnostic in report.diagnostics if diagnostic.needs <= report.facts)
    return replace(report, diagnostics=held)


def linter_for(fixture: Fixture) -> Callable[[Source], FileReport]:
    """`lint` with the rules of a fixture, as the fixer wants it."""
    return lambda source: lint(source, fixture.rules)


def found(report: FileReport) -> Counter[Found]:
    """The findings of a report as the marks know them."""
    return Counter(Found.of(diagnostic) for diagnostic in report.diagnostics)


@dataclass(frozen=True)
class Variant:
    """The same program in another dress: a change of text that moves every row by `rows`."""

    name: str
    change: Callable[[str], bytes]
    rows: int = 0
    applies: Callable[[str], bool] = lambda text: True

    def __str__(self) -> str:
        return self.name

    def of(self, source: Source) -> Source:
        """A file, changed."""
        return Source.from_bytes(source.path, self.change(source.text.replace("\r\n", "\n")))


_INDENT = re.compile(r"^(?: {4})+", re.MULTILINE)


def _windows(text: str) -> bytes:
    return b"\xef\xbb\xbf" + f"# Größe €\n{text}".replace("\n", "\r\n").encode()


def _tabs(text: str) -> bytes:
    tabbed = _INDENT.sub(lambda match: "\t" * (len(match.group()) // 4), text)
    return f"# -*- coding: latin-1 -*-\n# Größe\n{tabbed}".rstrip("\n").encode("latin-1")


def _is_latin(text: str) -> bool:
    return "coding" not in "".join(text.split("\n")[:2]) and all(ord(character) < 256 for character in text)


def _wrapped(text: str) -> bytes:
    return ("if True:\n" + re.sub(r"^(?=.*\S)", "    ", text, flags=re.MULTILINE)).encode()


WINDOWS = Variant("crlf, byte order mark, three-byte characters", _windows, rows=1)
TABS = Variant("tabs, latin-1 with a cookie, no final newline", _tabs, rows=2, applies=_is_latin)
DRESSES = (WINDOWS, TABS)
WRAPPED = Variant("under `if True:`", _wrapped, rows=1, applies=lambda text: "from __future__" not in text)
