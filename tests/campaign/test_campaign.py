"""The two witnesses must agree: on random programs, and on every program on which they once did not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, given, settings

from .grammar import programs
from .program import Program
from .tally import must_agree

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FIXTURES = sorted((Path(__file__).parent / "disagreements").glob("*.py"))


@settings(max_examples=220, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_the_witnesses_agree(program: Program) -> None:
    must_agree(program)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_program_on_which_they_once_did_not(path: Path) -> None:
    must_agree(program_of(path))


def program_of(path: Path) -> Program:
    """A program that was kept; its flags are the parameters of `train`, behind the batches."""
    text = path.read_text(encoding="utf-8")
    signature = re.search(r"^def train\(batches(?:, )?(.*)\):$", text, re.MULTILINE)
    assert signature is not None, path
    return Program(text, tuple(filter(None, signature[1].split(", "))))
