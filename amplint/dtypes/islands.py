"""Functions that switch autocast off for a part of their code, and so expect to be called under it: an island tells of a sea."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.dtypes.shapes import shape_of
from amplint.dtypes.values import Tensor
from amplint.file import File
from amplint.model.caller_contexts import CallerContext, Target
from amplint.model.events import Region
from amplint.model.torch.precision import FLOAT16
from amplint.syntax.entered_contexts import entered_in

_SEA = Region("cuda", FLOAT16, "maybe")
_ARGUMENT = shape_of(Tensor(FLOAT16, sure=False))


def islands(file: File) -> Iterator[CallerContext]:
    """How functions are entered that hold a disabled region and no other: under autocast, with outputs of layers.

    Nobody is named as the caller; `row` and `column` are those of the island.
    """
    seen: set[cst.FunctionDef] = set()
    for item in file.tree.find(cst.WithItem):
        function = file.tree.enclosing(item, cst.FunctionDef)
        region = file.contexts.of(item.item)
        if (
            region is None
            or region.device == "grad"
            or region.enabled != "no"
            or not isinstance(function, cst.FunctionDef)
        ):
            continue
        target = _target(file, function)
        if function not in seen and target is not None and not _enters_another(file, function):
            seen.add(function)
            start, end = file.range(item.item)
            count = len(function.params.params) - bool(target.made)
            given = tuple((str(position), _ARGUMENT) for position in range(count))
            places = start.row, start.column, False, end.row, end.column
            yield CallerContext(target, _SEA, True, False, given, "", *places)


def _target(file: File, function: cst.FunctionDef) -> Target | None:
    """The function as others call it, if it stands at the top of the file, or in a class there."""
    above = file.tree.enclosing(function, cst.FunctionDef, cst.ClassDef)
    if above is None:
        return Target("", function.name.value)
    around = file.tree.enclosing(above, cst.FunctionDef, cst.ClassDef)
    return (
        Target("", above.name.value, True, function.name.value)
        if isinstance(above, cst.ClassDef) and around is None
        else None
    )


def _enters_another(file: File, function: cst.FunctionDef) -> bool:
    """Whether a function enters a region that is not disabled."""
    regions = map(file.contexts.of, entered_in(file.tree, function))
    return any(region is not None and region.lowers for region in [*regions, *file.contexts.decorating(function)])
