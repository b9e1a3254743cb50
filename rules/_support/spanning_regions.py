"""Regions in which a step changes weights of which the region keeps copies."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.facts.half_parameters import HalfParameters
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File, Found


def spanning(file: File) -> Iterator[Found]:
    """The regions that span a step and a later forward pass; without those whose weights are half anyway, of which a region
    makes no copies.

    Args:
        file: the file.
    """
    for found in file.analysis.of(HazardKind.REGION_SPANS_STEPS):
        step = found.related.get("step")
        if step is None or not file.fact(HalfParameters).are_all_of(step):
            yield found
