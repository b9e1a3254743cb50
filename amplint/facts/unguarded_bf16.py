"""Training in bfloat16 without a scaler, in which nothing asks whether losses and gradients are finite."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.facts.scaler_precision import nodes_reached
from amplint.file import File
from amplint.hazards.entry_points import Entry
from amplint.model import vocabulary
from amplint.model.event_graph import Scoped
from amplint.model.events import Backward, ObjectFacts, OptimizerStep, Scale, ScalerStep


class Finiteness:
    """What one file asks about inf and NaN."""

    def __init__(self, file: File) -> None:
        self._analysis, self._tree = file.analysis, file.tree

    @cached_property
    def unguarded(self) -> tuple[cst.Call, ...]:
        """The backward passes in bfloat16 after which steps are taken whatever the gradients are, in source order."""
        if self._asks:
            return ()
        places = self._analysis.program.places
        sites = {site for entry in self._analysis.entries for site in self._backward(entry)}
        nodes = [places[site] for site in sites if site >= 0]
        here = [node for node in nodes if isinstance(node, cst.Call) and self._tree.root(node) is self._tree.module]
        return tuple(sorted(here, key=self._tree.order))

    @cached_property
    def _asks(self) -> bool:
        """Whether anything in the file speaks of what is finite, or compares a value with itself."""
        identifiers = (name.value for name in self._tree.find(cst.Name))
        if any(vocabulary.FINITE.search(name) or "anomaly" in name for name in identifiers):
            return True
        tests = (each for each in self._tree.find(cst.Comparison) if len(each.comparisons) == 1)
        sides = ((each.left, each.comparisons[0].comparator) for each in tests)
        # To look for a text takes long, and what is of two kinds never reads the same.
        return any(
            type(left) is type(right) and self._tree.text(left) == self._tree.text(right) for left, right in sides
        )

    @staticmethod
    def _backward(entry: Entry) -> list[int]:
        """The sites of the backward passes in an entry that steps, if it runs in bfloat16 and without a scaler."""
        inside = list(nodes_reached(entry))
        regions = [each.region for each in inside if isinstance(each, Scoped)]
        known = entry.objects
        scaled = any(facts.role == "scaler" and facts.enabled != "no" for facts in known.values()) or any(
            isinstance(each, (Scale, ScalerStep)) and known.get(each.scaler, ObjectFacts()).enabled != "no"
            for each in inside
        )
        steps = any(isinstance(each, (OptimizerStep, ScalerStep)) for each in inside)
        if scaled or not steps or not regions or any(region.dtype != "bfloat16" for region in regions):
            return []
        return [each.site for each in inside if isinstance(each, Backward)]
