"""A file is asked for a fact by its type, and makes it once."""

from __future__ import annotations

from lowered import file_of

from amplint.facts.scalers import Scalers
from amplint.facts.skip_tests import SkipTests
from amplint.rule import File

CODE = """
import torch

scaler = torch.amp.GradScaler("cuda")
"""


def number_of_scalers(file: File) -> int:
    """A fact may be a function."""
    return len(file.fact(Scalers).made)


def test_a_fact_is_made_when_it_is_asked_for_and_once() -> None:
    file = file_of(CODE)
    assert file.fact(Scalers) is file.fact(Scalers)
    assert isinstance(file.fact(SkipTests), SkipTests)
    assert file.fact(number_of_scalers) == 1


def test_files_do_not_share_facts() -> None:
    one, other = file_of(CODE), file_of("")
    assert one.fact(Scalers) is not other.fact(Scalers)
    assert (one.fact(number_of_scalers), other.fact(number_of_scalers)) == (1, 0)
