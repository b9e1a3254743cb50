"""Which names are bound at the places of a file: what a run over its statements notes."""

from __future__ import annotations

from amplint.model.records import NamedTuple
from amplint.python_ast.scopes import Scope

Bound = frozenset[str] | None
"""The names that are bound on every path to a place; None where no path leads."""


class ProgramPoint(NamedTuple):
    """What is known in front of a statement: its rows, its scope, the block that it stands in, and the bound names."""

    first: int
    last: int
    scope: Scope
    block: int
    bound: Bound


class UnboundUse(NamedTuple):
    """The use of a name that some path leaves unbound: its scope, its block, its name."""

    scope: str
    block: int
    name: str


class NameRecord:
    """What a run over a file notes; `entries` only if wanted: for n names they take the square of n in memory."""

    def __init__(self, with_entries: bool = True) -> None:
        self.with_entries = with_entries
        self.entries: list[ProgramPoint] = []
        self.misses: list[UnboundUse] = []
        self.anywhere: set[str] = set()
        """Every name that some scope binds."""


def meet(one: Bound, other: Bound) -> Bound:
    """The names that are bound where two ways come together.

    Args:
        one: those that are bound on one of them.
        other: those that are bound on the other one.
    """
    if one is None or other is None:
        return other if one is None else one
    return one & other
