"""Paths on which a scaler is left out, while the float16 region is entered all the same."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.model.torch.precision import FLOAT16
from amplint.rule import File, Found


def leaves_scaler_out(file: File, found: Found) -> bool:
    """Whether losses are computed in float16 with the scaler and without it: no option switches the regions of the function
    off, and it is no device that decides."""
    home = file.tree.function(found.node)
    items = [item for item in file.tree.find(cst.WithItem) if file.tree.function(item) is home]
    regions = [region for item in items if (region := file.contexts.of(item.item)) is not None and region.lowers]
    always = all(region.enabled == "yes" and region.dtype == FLOAT16 for region in regions)
    decided = any(map(vocabulary.HARDWARE.search, map(file.tree.text, _decisions(file, found))))
    return bool(regions) and always and not decided


def _decisions(file: File, found: Found) -> Iterator[cst.BaseExpression]:
    """The conditions around the backward pass, and those under which its scalers are made."""
    named = [node for node in file.tree.find(cst.Call) if file.roles.made_by(node) is not None]
    made = [call for call in named if (facts := file.roles.made_by(call)) is not None and facts.role == "scaler"]
    for node in (found.node, *made):
        for above in file.tree.ancestors(node):
            if isinstance(above, (cst.If, cst.IfExp)):
                yield above.test
    yield from (arg.value for call in made for arg in call.args if arg.keyword is not None)
