"""The generators cover the whole catalogue: a rule, or a kind of hazard, that they never draw fails here."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

pytest.importorskip("torch", reason="the campaign runs programs: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from amplint.engine.registry import load_rules

from . import plants  # noqa: F401  # each module files its plants
from .grammar import programs
from .judging import findings
from .planting import SOWERS, Planted, planted
from .program import Program
from .witnesses import hazard_kinds, read

_SETTINGS = settings(
    max_examples=2000,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_rule_is_drawn() -> None:
    """By the grammar where it is a hazard of the protocol, as a plant otherwise; there is no rule without either."""
    planted_or_hazard = {rule.code for rule in load_rules() if rule.name in hazard_kinds()} | SOWERS.keys()
    assert {rule.code for rule in load_rules()} == planted_or_hazard


def test_the_generator_covers_every_hazard_kind() -> None:
    missing = set(hazard_kinds())
    clean = [0]

    def all_found(program: Program) -> bool:
        found = read(program).hazards
        missing.difference_update(kind for kind, _ in found)
        clean[0] += not found
        return not missing and clean[0] > 0

    with suppress(NoSuchExample):
        find(programs(), all_found, settings=_SETTINGS, random=Random(0))
    assert sorted(missing) == [], "no production of the grammar brings these about: see tests/campaign/moves.py"
    assert clean[0] > 0, "the grammar writes no program without a hazard"


@pytest.mark.parametrize("code", sorted(SOWERS))
def test_a_rule_speaks_of_its_defect_and_not_of_its_twin(code: str) -> None:
    answers: set[bool] = set()

    def both(program: Planted) -> bool:
        answers.add(code in findings(program))
        return len(answers) == 2

    with suppress(NoSuchExample):
        find(planted((code,)), both, settings=settings(_SETTINGS, max_examples=100), random=Random(0))
    assert answers == {True, False}
