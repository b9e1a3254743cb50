"""Fixes of random programs make nothing worse; nor do those of the programs that they once made worse."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, given, settings

from .grammar import programs
from .program import Program
from .repairs import Harm, must_not_harm
from .test_campaign import program_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

HARMED = sorted((Path(__file__).parent / "disagreements" / "repaired").glob("*.py"))


@settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_fixes_make_nothing_worse(program: Program) -> None:
    must_not_harm(program)


@pytest.mark.parametrize("path", HARMED, ids=lambda path: path.stem)
def test_a_program_that_fixes_once_made_worse(path: Path) -> None:
    must_not_harm(program_of(path))


def test_a_fix_that_harms_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scaler that may be None, which the fix of AMP116 once called."""
    (path,) = (each for each in HARMED if each.stem.startswith("amp116"))
    monkeypatch.setattr("amplint_rules.amp116_gradient_penalty_unscaled.may_be_left_out", lambda *_: False)
    with pytest.raises(Harm, match="'NoneType' object has no attribute 'scale'"):
        must_not_harm(program_of(path))
