"""Conditions about variables that count: they begin with a number, and are added to; of these a walk knows the values."""

from __future__ import annotations

import re

import libcst as cst

from amplint.model.events import Assign
from amplint.syntax.comparisons import COMPARED

_COMPARED = {kind.__name__: compute for kind, compute in COMPARED.items()} | {"==": COMPARED[cst.Equal]}
"""What the keys of conditions call comparisons."""
_TESTS = (
    re.compile(r"‹(?P<name>[^‹›]+)›"),
    re.compile(r"Comparison\(‹(?P<name>[^‹›]+)›,ComparisonTarget\((?P<how>\w+)\(\),(?P<number>[\d.]+)\)\)"),
    re.compile(r"\(‹(?P<name>[^‹›]+)› (?P<how>==) (?P<number>[\d.]+)\)"),
)
"""The keys of conditions (`amplint.model.event_graph.Test`) that ask for one variable, or compare it with a number."""


class Counts:
    """What variables hold that count."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def on(self, event: Assign) -> None:
        """Take note of an assignment."""
        before = self._values.pop(event.target, None)
        if event.number is not None:
            self._values[event.target] = event.number
        elif event.added is not None and before is not None:
            self._values[event.target] = before + event.added

    def begins(self, targets: list[str], value: float | None) -> None:
        """An iteration of a loop begins.

        Args:
            targets: what the loop assigns.
            value: what the first of them counts, if it does.
        """
        for target in targets:
            self._values.pop(target, None)
        if targets and value is not None:
            self._values[targets[0]] = value

    def truth(self, key: str) -> bool | None:
        """The truth of a condition; None where it asks for something else.

        Args:
            key: that of the condition, in the references of the outermost caller.
        """
        asked = next((found for each in _TESTS if (found := each.fullmatch(key)) is not None), None)
        value = self._values.get(asked["name"]) if asked is not None else None
        if asked is None or value is None:
            return None
        given = asked.groupdict()
        return _COMPARED[given["how"]](value, float(given["number"])) if "how" in given else value != 0
