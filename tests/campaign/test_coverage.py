"""A plant brings about its defect, and its correct twin."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from . import plants  # noqa: F401  # each module files its plants
from .judging import findings
from .planting import SOWERS, Planted, planted
from .test_grammar import planted_codes

_SETTINGS = settings(
    max_examples=100,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_plants_are_known_by_their_text() -> None:
    assert planted_codes() == SOWERS.keys()


@pytest.mark.parametrize("code", sorted(SOWERS))
def test_a_rule_speaks_of_its_defect_and_not_of_its_twin(code: str) -> None:
    answers: set[bool] = set()

    def both(program: Planted) -> bool:
        answers.add(code in findings(program))
        return len(answers) == 2

    with suppress(NoSuchExample):
        find(planted((code,)), both, settings=_SETTINGS, random=Random(0))
    assert answers == {True, False}
