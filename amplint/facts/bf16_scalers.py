"""Scalers that gain nothing, as all that they scale is computed in bfloat16."""

from __future__ import annotations

import libcst as cst

from amplint.facts.scaler_conditions import ScalerConditions
from amplint.facts.scaler_precision import Precisions
from amplint.facts.scalers import Scalers
from amplint.file import File


class Bf16Scalers:
    """The scalers of one file that scale in bfloat16 alone.

    Attributes:
        found: the calls that make them, each with what is said of the place that shows it, and with that place.
    """

    def __init__(self, file: File) -> None:
        self._precisions, self._conditions = file.fact(Precisions), file.fact(ScalerConditions)
        made = [call for call, facts in file.fact(Scalers).made if facts.enabled != "no"]
        shown = ((call, self._shown(call)) for call in made)
        self.found = {call: where for call, where in shown if where is not None}

    def _shown(self, made: cst.Call) -> tuple[str, cst.CSTNode] | None:
        """Where it shows that all a scaler scales is computed in bfloat16; None where it does not."""
        condition = self._conditions.made_for_bf16(made)
        if condition is not None:
            return "made for bfloat16 here", condition
        regions = self._precisions.regions(made)
        if self._conditions.follow_dtype(made) and not self._conditions.switched_with(made, regions):
            return None
        dtypes = self._precisions.dtypes.union(each.region.dtype for each in regions)
        if not regions or dtypes != {"bfloat16"}:
            return None
        return "computed in bfloat16 here", self._precisions.first(regions)
