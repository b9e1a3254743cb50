"""The dtypes that settings of autocast regions may name."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.model import vocabulary
from amplint.model.torch import names as torch_names
from amplint.model.torch.precision import ANY_HALF, BFLOAT16, DEFAULT_DTYPE, DTYPES, EITHER_HALF, FLOAT16
from amplint.roles.context_values import ContextValues
from amplint.syntax.access_paths import called, path_of
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

NAMED_DTYPES = {
    **DTYPES,
    **{f"torch.{name}": name for name in "int8 int16 int32 int64 uint8 bool complex64 complex128".split()},
}  # fmt: skip
"""The dtypes of torch, by their names."""
_SCALERS = torch_names.GRAD_SCALER - {
    name for name, device in torch_names.GRAD_SCALER_DEVICE.items() if device == "cpu"
}
_MOST_STEPS = 8


class RegionDtypes:
    """Reads dtypes.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes may hold settings.
        values: what expressions may be, one step back.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, values: ContextValues) -> None:
        self._tree, self._names, self._classes, self._values = tree, names, classes, values

    def values(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What a name or an attribute of `self` may hold; empty when something unknown is among it."""
        if isinstance(node, cst.Name):
            values = [binding.value for binding in self._names.bindings(node.value, node)]
            return [value for value in values if value is not None] if None not in values else []
        if isinstance(node, cst.Attribute) and dotted(node.value) == "self":
            owner = self._classes.owner(node)
            return owner.values(node.attr.value) if owner is not None else []
        return []

    def lowering(self, node: cst.BaseExpression | None, device: str) -> set[str]:
        """The dtypes that a region may be given.

        Args:
            node: what says so; None where nothing does.
            device: the device type of the region.
        """
        if node is None or (isinstance(node, cst.Name) and node.value == "None"):
            default = FLOAT16 if device == "?" and self._speaks_of_scalers else EITHER_HALF
            return {DEFAULT_DTYPE.get(device, default)}
        return self.dtypes(node)

    @cached_property
    def _speaks_of_scalers(self) -> bool:
        """Whether the file names a scaler's class, or scales through one that it is given: whichever device a run chooses, the
        author has one of float16 in mind."""
        methods = (each.func for each in self._tree.find(cst.Call) if type(each.func) is cst.Attribute)
        return bool(self._names.references(_SCALERS)) or any(
            each.attr.value in ("scale", "unscale_") and vocabulary.SCALER.search(called(path_of(each.value)))
            for each in methods
            if isinstance(each, cst.Attribute)
        )

    def dtype(self, node: cst.BaseExpression) -> str:
        """The dtype that an expression names, "half" for one of both; "?" when it is chosen elsewhere."""
        return one_dtype(self.dtypes(node))

    def dtypes(self, node: cst.BaseExpression, depth: int = 0) -> set[str]:
        """The dtypes that an expression may name; "?" among them where one is chosen elsewhere.

        Args:
            node: the expression.
            depth: through how many others it was come by.
        """
        meanings = self._names.resolve(node)
        if len(meanings) == 1 and (name := next(iter(meanings))) in NAMED_DTYPES:
            return {NAMED_DTYPES[name]}
        if depth and isinstance(node, cst.Name) and node.value == "None":
            return {EITHER_HALF}  # the default of the device
        on_cuda = _on_cuda(node)
        if on_cuda is not None:
            return self.dtypes(on_cuda, depth)
        is_given = False
        if isinstance(node, (cst.IfExp, cst.Subscript, cst.Call)):
            parts = self._values.behind(node) or self._values.returned(node)
        else:
            parts = self.values(node)
        if not parts and isinstance(node, cst.Name):
            parts, is_given = self._values.given(node), True
        if not parts or depth > _MOST_STEPS:
            return {"?"}
        found = {dtype for part in parts for dtype in self.dtypes(part, depth + 1)}
        if BFLOAT16 in found and any(_is_none_of_a_branch(part, self._tree) for part in parts):
            return {"?"}  # where nothing is asked for, perhaps nothing is entered
        # Callers out of sight may give something else than full precision.
        return {"?"} if is_given and found.isdisjoint({*ANY_HALF, EITHER_HALF}) else found


def _is_none_of_a_branch(node: cst.BaseExpression, tree: Tree) -> bool:
    """Whether a statement under a condition assigns None."""
    is_none = isinstance(node, cst.Name) and node.value == "None" and isinstance(tree.parent(node), cst.Assign)
    return is_none and isinstance(tree.enclosing(node, cst.If, cst.Else, cst.FunctionDef), (cst.If, cst.Else))


def one_dtype(dtypes: set[str]) -> str:
    """One of several dtypes, as far as it is known."""
    if len(dtypes) == 1:
        return next(iter(dtypes))
    return EITHER_HALF if dtypes <= ANY_HALF else "?"


def _on_cuda(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The side of a choice that CUDA takes, where its test asks for the device: `float16 if device != "cpu" else bfloat16`."""
    match node:
        case cst.IfExp(
            test=cst.Comparison(comparisons=[cst.ComparisonTarget(operator, cst.SimpleString() as asked)]),
            body=one,
            orelse=other,
        ) if asked.evaluated_value in ("cpu", "cuda"):
            same = {cst.Equal: True, cst.NotEqual: False}.get(type(operator))
            return None if same is None else one if same == (asked.evaluated_value == "cuda") else other
    return None
