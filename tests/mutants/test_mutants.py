"""A fixed sample of repairs that are known to be wrong, or right: none is judged the other way round."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from .attempts import KNOWN, Attempt, mutated, outcomes, written
from .by_hand import RIGHT, WRONG, cases
from .reasons import reasons
from .repaired import observed_codes
from .same_effect import BY_HAND

EVERY = 6
"""One of so many wrong repairs that people have written down is judged here; `python -m tests.mutants --by-hand` judges all."""
MUTANTS = 1
"""How many mutants of each rule are judged here."""


def sample() -> list[Attempt]:
    """All right repairs, and some wrong ones: the same from run to run."""
    every = written(observed_codes())
    wrong = [one for one in every if not one.right][::EVERY]
    return [*(one for one in every if one.right), *wrong, *mutated(observed_codes(), MUTANTS, 1)]


def test_no_wrong_repair_is_confirmed_and_no_right_one_refuted() -> None:
    attempts = sample()
    misjudged = {one.name for one, outcome in zip(attempts, outcomes(attempts, 0)) if one.misjudged(outcome)}
    known = reasons(KNOWN).keys()
    assert misjudged - known == set(), "misjudged, and not known to be"
    assert {one.name for one in attempts if one.name in known} - misjudged == set(), (
        "judged rightly by now: strike them"
    )


def test_what_people_have_written_down_differs_from_the_fix_and_from_the_defect() -> None:
    found = {folder: list(cases(folder, observed_codes())) for folder in (WRONG, RIGHT)}
    assert len(found[WRONG]) >= 200 and len(found[RIGHT]) >= 60
    for case in (*found[WRONG], *found[RIGHT]):
        shape = ast.dump(ast.parse(case.text))
        assert shape not in (ast.dump(case.repaired.tree), ast.dump(ast.parse(case.repaired.fixture.source.text))), (
            case.name
        )


def test_each_rule_has_wrong_repairs() -> None:
    found = {code: len(list(cases(WRONG, [code]))) for code in observed_codes()}
    assert min(found.values()) >= 3


def test_each_name_is_that_of_one_repair() -> None:
    names = [one.name for one in written(observed_codes())]
    mutants = [one.name for one in mutated(["AMP123", "AMP309"], 0, 1)]
    assert len(set(names)) == len(names)
    assert len(set(mutants)) > 0.95 * len(mutants)


def test_lists_have_reasons() -> None:
    for path in (KNOWN, BY_HAND):
        assert all(reasons(path).values())
