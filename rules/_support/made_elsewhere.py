"""Where another file makes what a finding rests on, as second locations."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Related
from amplint.model.torch.precision import EITHER_HALF, FLOAT16
from amplint.rule import File, Found


def float16_region(file: File, found: Found) -> tuple[Related, ...]:
    """Where another file makes the float16 region in which a loss is computed; empty where this one does.

    Args:
        file: the file.
        found: the hazard of the loss.
    """
    home = file.tree.function(found.node)
    entered = [item for item in file.tree.find(cst.WithItem) if _is_float16(file, item)]
    entered = [item for item in entered if file.tree.function(item) is home] or entered
    contexts = [item.item for item in entered]
    made: list[cst.CSTNode] = [call for each in contexts for call in file.contexts.sources(each)]
    made += [helper.name for each in contexts for helper in file.contexts.helpers(each)]
    return _first_abroad(file, "makes the float16 region", made)


def schedule(file: File, advance: cst.BaseExpression | None) -> tuple[Related, ...]:
    """Where another file makes the schedule that a call advances; empty where this one does, or nobody is seen to.

    Args:
        file: the file.
        advance: the schedule, as the call names it.
    """
    if advance is None or file.path(advance):
        return ()
    values = [value for value in file.roles.values(advance) if isinstance(value, cst.Call)]
    made: list[cst.CSTNode] = [
        behind
        for value in values
        for behind in (*file.roles.flow.sources(value), value)
        if file.tree.text(behind) != "None"  # which makes none
    ]
    return _first_abroad(file, "makes the schedule", made)


def _is_float16(file: File, item: cst.WithItem) -> bool:
    region = file.contexts.of(item.item)
    return region is not None and region.lowers and region.dtype in (FLOAT16, EITHER_HALF)


def _first_abroad(file: File, message: str, made: list[cst.CSTNode]) -> tuple[Related, ...]:
    """The first of some places that is in another file."""
    abroad = [node for node in made if file.path(node)]
    return file.related(message, *abroad[:1])
