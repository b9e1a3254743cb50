"""Where the value of an expression comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from amplint.model.records import frozen


@frozen
class Provenance:
    """Where the value of an expression comes from; see `Assign`."""

    carried: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    computes: bool = False
    leaf: bool = False

    def __or__(self, other: Provenance) -> Provenance:
        return Provenance(
            _merge(self.carried, other.carried), _merge(self.args, other.args), self.computes or other.computes
        )

    def as_argument(self) -> Provenance:
        """Where the result of a call comes from that this value is an argument of."""
        return Provenance((), _merge(self.carried, self.args), True)


Read = Callable[[cst.CSTNode], Provenance]
"""Emits the events of an expression in the order in which they happen, and says where its value comes from."""


def union(parts: Iterable[Provenance]) -> Provenance:
    """Where a value comes from that is made of several."""
    found = Provenance()
    for part in parts:
        found |= part
    return found


def arguments(read: Read, call: cst.Call, but: int = 0) -> Provenance:
    """Where the arguments of a call come from.

    Args:
        read: tells of one expression.
        call: the call.
        but: how many of the first ones do not count.
    """
    return union(read(arg.value) for arg in call.args[but:])


def _merge(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*left, *right))) if left and right else left or right
