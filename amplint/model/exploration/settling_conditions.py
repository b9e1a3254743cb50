"""Which conditions say something of an optimizer's step by being asked, or by how they come out."""

from __future__ import annotations

from amplint.model.event_graph import MOMENTS, Condition, Function, Not, Test, kinds_of
from amplint.model.events import OptimizerStep, SchedulerStep, Unscale
from amplint.model.exploration.call_references import keys_of
from amplint.model.exploration.handed_names import HandedNames

_TELLING = frozenset({"gate", "skipped", *MOMENTS})
"""Kinds of conditions that tell something of a step by how they come out, also where nothing goes by them."""


class SettlingConditions:
    """The conditions of some functions that count for their own sake.

    Args:
        names: the functions, and what the names of each are to the others.
    """

    def __init__(self, names: HandedNames) -> None:
        self._names = names
        kinds = set(map(type, names.events()))
        self._asks_count = Unscale in kinds and OptimizerStep in kinds
        """Whether it counts that anything is asked that varies, however it comes out."""
        self._settling = _TELLING | {"varying"} if self._asks_count or SchedulerStep in kinds else frozenset[str]()

    def settles(self, condition: Condition, function: Function) -> bool:
        """Whether it changes what is known of a step that a condition is asked.

        Args:
            condition: the condition.
            function: the one that asks it.
        """
        return self._is_of(condition, self._settling, function)

    def counts(self, condition: Condition, function: Function) -> bool:
        """Whether it counts how a condition comes out, around nothing.

        Args:
            condition: the condition.
            function: the one that asks it.
        """
        kinds = self._settling if self._asks_count else self._settling & _TELLING
        return self._is_of(condition, kinds, function) and not _is_plain(condition)

    def counts_by_itself(self, condition: Condition, function: Function) -> bool:
        """Whether it counts that a condition is asked, however it comes out.

        Args:
            condition: the condition.
            function: the one that asks it.
        """
        return self._asks_count and self.settles(condition, function)

    def _is_of(self, condition: Condition, kinds: frozenset[str], function: Function) -> bool:
        """Whether a condition is of one of some kinds, or is one that a caller hands over, which may be of any."""
        handed = self._names.conditions.get(function.key, ()) if kinds else ()
        return not kinds.isdisjoint(kinds_of(condition)) or any(key in handed for key in keys_of(condition))


def _is_plain(condition: Condition) -> bool:
    """Whether nothing but its being asked counts of a condition around nothing."""
    while isinstance(condition, Not):
        condition = condition.part
    return isinstance(condition, Test) and condition.kind == "varying"
