"""The fixtures of this project, which `amplint.testing` knows how to check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from checkout import ROOT

from amplint.testing.fixtures import Fixture, fixture_paths, fixtures_in

FIXTURES = ROOT / "fixtures"

DRESSED = 3
"""The fixtures of each rule that are checked in every dress; all of them are with `--all-dresses`."""


def fixture_files(code: str = "") -> Iterator[Path]:
    """Every Python file of the fixtures that is no `.fixed.py`: of all rules, or of one."""
    return fixture_paths(FIXTURES, code)


def fixtures_of(code: str = "") -> list[Fixture]:
    """The fixtures of all rules, or of one; a file with another kind of name is reported by `test_meta.py`."""
    return fixtures_in(FIXTURES, code)


@cache
def dressed(code: str) -> frozenset[Fixture]:
    """The fixtures of a rule that are checked in every dress even where not all are: the longest that can be fixed."""
    flagged = [fixture for fixture in fixtures_of(code) if fixture.flagged]
    flagged.sort(key=lambda each: (each.fixed_path.exists(), each.path.stat().st_size, each.path), reverse=True)
    return frozenset(flagged[:DRESSED])
