"""Rules and runs must say the same of what is planted in random programs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, given, settings

from . import plants  # noqa: F401  # each module files its plants
from .judging import must_hold
from .planting import SOWERS, Planted, planted

FIXTURES = sorted((Path(__file__).parent / "disagreements" / "planted").glob("*.py"))


@settings(max_examples=80, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(planted())
def test_rules_say_what_runs_show(program: Planted) -> None:
    must_hold(program)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_program_that_was_misjudged(path: Path) -> None:
    code = path.stem[:6].upper()
    assert code in SOWERS
    must_hold(Planted.read(path.read_text(encoding="utf-8"), code))
