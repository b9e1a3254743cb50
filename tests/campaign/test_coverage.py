"""The generator covers what the protocol machine knows: a kind of hazard without a production in the grammar fails here."""

from __future__ import annotations

from contextlib import suppress

import pytest

pytest.importorskip("torch", reason="the campaign runs programs: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from .grammar import programs
from .limits import UNRECORDED
from .witnesses import Program, hazard_kinds, read

_SETTINGS = settings(
    max_examples=2000,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_what_is_not_recorded_is_known_to_the_protocol() -> None:
    assert UNRECORDED.keys() <= hazard_kinds()


def test_the_generator_covers_every_hazard_kind() -> None:
    missing = set(hazard_kinds() - UNRECORDED.keys())
    clean = [0]

    def all_found(program: Program) -> bool:
        found = read(program).hazards
        missing.difference_update(kind for kind, _ in found)
        clean[0] += not found
        return not missing and clean[0] > 0

    with suppress(NoSuchExample):
        find(programs(), all_found, settings=_SETTINGS)
    assert sorted(missing) == [], "no production of the grammar brings these about: see tests/campaign/moves.py"
    assert clean[0] > 0, "the grammar writes no program without a hazard"
