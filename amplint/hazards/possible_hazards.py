"""In which functions any hazard is possible: the others need not be explored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from amplint.model.event_graph import Call, Function, Node, Scoped, parts_of
from amplint.model.events import Backward, InnerGrad, OptimizerStep, Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.model.records import frozen

_OF_SCALERS = (Scale, Unscale, ScalerStep, ScalerUpdate)
_AFTER_REGIONS = (OptimizerStep, InnerGrad)
"""What may be a hazard outside of the region in which something was computed."""


@frozen
class _Own:
    """What a function does itself that hazards go by; `calls` are the functions that it calls, `within` those of them that it
    calls in a region that lowers precision."""

    scales: bool
    lowers: bool
    passes_within: bool
    uses: bool
    passes: bool
    calls: frozenset[str] = field(repr=False)
    within: frozenset[str] = field(repr=False)


class PossibleHazards:
    """What can be a hazard in some functions, by what happens in them: every hazard is of a scaler that does something, or of a
    region that lowers precision, in which a backward pass runs or in which something is computed that is stepped with.

    Args:
        functions: the functions, by key.
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._known: dict[str, _Own] = {}

    def any_in(self, key: str) -> bool:
        """Whether a hazard is possible in a function, or in what its calls lead to.

        Args:
            key: that of the function.
        """
        reached = [self._own(each) for each in self._reached([key])]
        if any(own.scales for own in reached):
            return True
        if not any(own.lowers for own in reached):
            return False
        if any(own.uses or own.passes_within for own in reached):
            return True
        within = self._reached(each for own in reached for each in own.within)
        return any(self._own(each).passes for each in within)

    def _reached(self, keys: Iterable[str]) -> set[str]:
        """Some functions, and all that their calls lead to."""
        found = {key for key in keys if key in self._functions}
        waiting = [*found]
        while waiting:
            called = (self._own(waiting.pop()).calls & self._functions.keys()) - found
            waiting += called
            found |= called
        return found

    def _own(self, key: str) -> _Own:
        if key not in self._known:
            outside, within = _nodes(self._functions[key].body)
            nodes = [*outside, *within]
            self._known[key] = _Own(
                any(isinstance(each, _OF_SCALERS) for each in nodes),
                bool(within),
                any(isinstance(each, Backward) for each in within),
                any(isinstance(each, _AFTER_REGIONS) for each in nodes),
                any(isinstance(each, Backward) for each in nodes),
                frozenset(each.function for each in nodes if isinstance(each, Call)),
                frozenset(each.function for each in within if isinstance(each, Call)),
            )
        return self._known[key]


def _nodes(body: Node) -> tuple[list[Node], list[Node]]:
    """The nodes of a function outside of the regions that lower precision, and those within."""
    outside: list[Node] = []
    within: list[Node] = []
    waiting = [(body, False)]
    while waiting:
        node, lowered = waiting.pop()
        lowered = lowered or (isinstance(node, Scoped) and node.region.lowers)
        (within if lowered else outside).append(node)
        waiting += ((part, lowered) for part in parts_of(node))
    return outside, within
