"""Mutants that are right repairs all the same: what runs after them computes what it should.

This is decided by the text alone, and never by what a replay says of it: two statements that have nothing to do with each other
have changed places, or a person has written down why (`same_effect.txt`).
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from .mutants import Mutant
from .program_text import callee, dotted
from .reasons import reasons

BY_HAND = Path(__file__).with_name("same_effect.txt")
"""A mutant a line: its name, ` -> `, and the reason."""

_COMMUTE = frozenset(
    {
        frozenset(pair)
        for pair in (
            ("zero_grad", "update"),
            ("zero_grad", "scheduler.step"),
            ("update", "scheduler.step"),
            ("zero_grad", "print"),
            ("zero_grad", "to"),
            ("zero_grad", "cuda"),
            ("zero_grad", "train"),
            ("update", "train"),
            ("to", "cuda"),
            ("to", "to"),
            ("cuda", "cuda"),
        )
    }
)
"""Calls that do not see what the other one does."""


def why_same(mutant: Mutant) -> str:
    """Why a mutant has the effect of the fix; empty where it has another one, or nobody can tell.

    Args:
        mutant: the mutant.
    """
    known = _by_hand().get(mutant.name, "")
    if known or mutant.mutator not in ("swap_neighbours", "move_in", "move_out"):
        return known
    one, other = _moved(mutant)
    if one and other and frozenset((one, other)) in _COMMUTE:
        return "neither statement sees what the other one does"
    return ""


@cache
def _by_hand() -> dict[str, str]:
    return reasons(BY_HAND)


def _moved(mutant: Mutant) -> tuple[str, str]:
    """The calls of the two statements that have changed places, as `_COMMUTE` names them; empty where it is more than that."""
    before, after = (ast.unparse(ast.parse(text)).splitlines() for text in (mutant.repaired.text, mutant.change.text))
    if len(before) != len(after):
        return "", ""
    differing = [row for row, (old, new) in enumerate(zip(before, after)) if old != new]
    if len(differing) != 2 or differing[1] != differing[0] + 1 or mutant.mutator != "swap_neighbours":
        return "", ""
    first, second = (_called(before[row]) for row in differing)
    return first, second


def _called(line: str) -> str:
    try:
        (statement,) = ast.parse(line.strip()).body
    except SyntaxError:
        return ""
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.Call):
        return ""
    name = callee(value)
    receiver = dotted(value.func.value).lower() if isinstance(value.func, ast.Attribute) else ""
    return "scheduler.step" if name == "step" and "sched" in receiver else name
