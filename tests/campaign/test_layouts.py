"""Rules and runs say the same where a region is entered in one file and numbers are spoiled in another."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from . import plants  # noqa: F401  # each module files its plants
from .judging import must_hold
from .planting import ELSEWHERE, Planted, planted

_SETTINGS = settings(
    max_examples=60, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("files", [2, 3])
@pytest.mark.parametrize("code", ELSEWHERE)
def test_a_defect_in_another_file_is_told_from_its_twin(code: str, files: int) -> None:
    answers: set[str] = set()

    def both(program: Planted) -> bool:
        assert len(program.parts) == 3 or files == 2
        answers.add(must_hold(program).answer)
        return {"both", "neither"} <= answers

    with suppress(NoSuchExample):
        find(planted((code,), files), both, settings=_SETTINGS, random=Random(0))
    assert {"both", "neither"} <= answers


def test_rows_are_those_of_the_whole_text_and_modules_are_forgotten() -> None:
    program = Planted("# file: losses.py\ndef f():\n    return 1\n# file: engine.py\nimport losses\ntrain = losses.f\n")
    assert [(part.name, part.above) for part in program.parts] == [("losses", 1), ("engine", 4)]
    with program.loaded("program.py") as train:
        assert train() == 1
        assert train.__code__.co_firstlineno == 2
    with pytest.raises(ModuleNotFoundError), Planted("import losses\ntrain = losses.f\n").loaded("program.py"):
        pass
