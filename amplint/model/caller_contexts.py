"""How functions are entered by code of other files: under which autocast region, with which dtypes.

Plain values, so that they can be handed from one process to another, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from amplint.model.events import Region

MOST = 6
"""So many contexts of one function are followed; callers beyond them hardly say anything new."""

Shape = tuple[Any, ...] | None
"""A value without its places: see `amplint.dtypes.shapes`."""


class Target(NamedTuple):
    """A function of another file.

    Attributes:
        file: the path of the file; empty where only the name is known by which the function, or its object, is called.
        name: what the file calls the function, or the class of the object; before it is linked, any expression that holds the
            function or the object; or the name of a parameter, or attribute, that does.
        made: whether it is an object that is called, or a method of one.
        method: the method; empty for `forward`.
    """

    file: str
    name: str
    made: bool = False
    method: str = ""


class CallerContext(NamedTuple):
    """One way in which a function is entered.

    Attributes:
        target: the function.
        region: the autocast region in effect, None outside of any.
        differentiates: whether gradients are recorded.
        loss: whether the code is a loss by construction, or called by one.
        arguments: what is known of each argument, by position ("0") or keyword.
        caller: the path of the file that calls; there `row` and `column` (1-based) are where it enters the region, or calls.
    """

    target: Target
    region: Region | None
    differentiates: bool
    loss: bool
    arguments: tuple[tuple[str, Shape], ...]
    caller: str
    row: int
    column: int

    @property
    def effect(self) -> tuple[object, ...]:
        """What decides on how the function runs: everything but where it is called."""
        return self.target, self.region, self.differentiates, self.loss, self.arguments


def distinct(contexts: Iterable[CallerContext]) -> tuple[CallerContext, ...]:
    """Contexts in a stable order: one for each effect, and not too many for one function."""
    found: dict[tuple[object, ...], CallerContext] = {}
    counts: dict[Target, int] = {}
    for context in _ordered(contexts):
        if context.effect not in found and counts.get(context.target, 0) < MOST:
            found[context.effect] = context
            counts[context.target] = counts.get(context.target, 0) + 1
    return tuple(found.values())


def _ordered(contexts: Iterable[CallerContext]) -> Iterator[CallerContext]:
    """Contexts by function and place, those of one place by how they are written."""
    for _, here in groupby(sorted(dict.fromkeys(contexts), key=_place), key=_place):
        alike = [*here]
        yield from sorted(alike, key=repr) if len(alike) > 1 else alike


def _place(context: CallerContext) -> tuple[object, ...]:
    return context.target, context.caller, context.row, context.column
