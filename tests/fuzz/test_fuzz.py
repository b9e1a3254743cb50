"""A small fixed sample of the long campaign, and every input that once failed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("hypothesis", reason="programs are drawn with hypothesis")
pytest.importorskip("pyflakes", reason="pyflakes says which names are unbound")

from campaign.grammar import programs
from campaign.program import Program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .batches import examine_batch
from .cases import Case, dressed, make
from .corpus import read
from .failures import fails_so
from .mutators import MUTATORS, mutated
from .oracles import ORACLES, Failure, examine
from .shrink import smallest

REGRESSIONS = sorted(
    path for path in (Path(__file__).parent / "regressions").iterdir() if path.suffix in (".py", ".ipynb")
)
CORPUS = read()


def must_hold(case: Case) -> None:
    """No oracle finds anything wrong."""
    _, failures = examine(case)
    assert not failures, f"{case.mutators}\n{case.data!r}"


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_mutated_fixtures_and_notebooks(start: int) -> None:
    for number in range(start, start + 20):
        must_hold(make(CORPUS, 0, number))


@settings(max_examples=24, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([(family, at) for family, found in MUTATORS.items() for at in range(len(found))]),
    st.integers(0, 10**6),
)
def test_each_mutator(chosen: tuple[str, int], number: int) -> None:
    name, mutator = MUTATORS[chosen[0]][chosen[1]]
    random = Random(number)
    must_hold(dressed(random, "case.py", mutator(random, CORPUS.text(random), CORPUS), [name]))


@settings(max_examples=15, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 10**6))
def test_mutated_programs(program: Program, number: int) -> None:
    random = Random(number)
    must_hold(dressed(random, "case.py", *mutated(random, program.text, CORPUS)))


def test_a_folder_of_inputs() -> None:
    assert examine_batch([make(CORPUS, 0, number) for number in range(10)]) == []


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.name)
def test_an_input_that_once_failed(path: Path) -> None:
    must_hold(Case(path.name, path.read_bytes()))


def test_an_input_follows_from_its_seed_and_number() -> None:
    assert [make(CORPUS, 5, number) for number in range(5)] == [make(read(), 5, number) for number in range(5)]
    assert make(CORPUS, 5, 1) != make(CORPUS, 6, 1)


def test_an_oracle_that_fails_is_heard_and_its_input_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        ORACLES, "says-so", lambda examined: iter(["key: seen"] if b"scaler.unscale_(" in examined.case.data else [])
    )
    case = Case("case.py", b"import torch\n\nscaler.unscale_(optimizer)\nx = 1\n")
    _, failures = examine(case)
    assert failures == [Failure("says-so", "key", "seen")]
    assert smallest(case, lambda smaller: fails_so(smaller, failures[0]), 60).data.strip() == b"scaler.unscale_("
