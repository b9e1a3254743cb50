"""Dresses: the same program with other line ends, indents and encodings, in which the same must be found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from amplint.engine.fixer import fix_source
from amplint.rule import Rule
from amplint.source import Source
from amplint.testing.fix_claims import can_be_fixed, repaired_text
from amplint.testing.fixtures import Fixture, findings_as_marks, lint_alone, linter_for


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


def assert_same_findings(fixture: Fixture, variant: Variant, rules: tuple[Rule, ...]) -> None:
    """A variant of a fixture gives the findings of the fixture, in their rows."""
    report = lint_alone(variant.of(fixture.source), rules)
    moved = Counter(
        {each._replace(row=each.row + variant.rows): n for each, n in findings_as_marks(fixture.report).items()}
    )
    assert not report.error
    assert sorted(findings_as_marks(report).elements()) == sorted(moved.elements()), variant


def findings_depend_neither_on_depth_nor_on_the_order_of_rules(fixture: Fixture) -> None:
    if WRAPPED.applies(fixture.source.text):
        assert_same_findings(fixture, WRAPPED, fixture.rules[::-1])


def findings_do_not_depend_on_dress(fixture: Fixture) -> None:
    for variant in worn_by(fixture):
        assert_same_findings(fixture, variant, fixture.rules)


def fixes_do_not_depend_on_dress(fixture: Fixture) -> None:
    for variant in worn_by(fixture) if can_be_fixed(fixture) else ():
        outcome = fix_source(variant.of(fixture.source), linter_for(fixture), unsafe=True)
        wanted = variant.of(replace(fixture.source, text=repaired_text(fixture).text))
        assert not outcome.error
        assert outcome.text.rstrip("\r\n") == wanted.text.rstrip("\r\n"), variant
        assert variant.of(fixture.source).encode(outcome.text).startswith(variant.change("")[:3]), variant


def worn_by(fixture: Fixture) -> list[Variant]:
    """The dresses in which a fixture with findings can be put."""
    return [variant for variant in DRESSES if fixture.flagged and variant.applies(fixture.source.text)]
