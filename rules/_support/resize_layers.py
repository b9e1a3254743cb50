"""Changing a size that layers share, at all places that must change with it."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Edit, NoFix
from amplint.rule import File

from .linear_chains import Hidden, Model, Size

SHARED = NoFix("the number is also used where nothing shows whether it may change")
"""Why a size stays as it is for which `resized` has no edits."""


def sizes_of(model: Model, hidden: Hidden) -> list[Size]:
    """Where the layers of a model, and the normalisation between them, say a size that they share."""
    sizes = [size for layer in hidden.producers if (size := layer.fan_out) is not None]
    sizes += [size for layer in hidden.consumers if (size := layer.fan_in) is not None]
    return [*sizes, *model.norm_sizes(hidden.value)]


def resized(file: File, scope: cst.CSTNode, value: int, sizes: list[Size], wanted: int) -> tuple[Edit, ...]:
    """The edits that make sizes `wanted`.

    There are none where the value also stands elsewhere in `scope`, or a constant that holds it is read elsewhere.
    """
    used = {size.used for size in sizes}
    if not _is_all(file, scope, value, sizes, used):
        return ()
    literals = {size.literal for size in sizes}
    return tuple(sorted(Edit(*file.tree.span(literal), str(wanted)) for literal in literals))


def _is_all(file: File, scope: cst.CSTNode, value: int, sizes: list[Size], used: set[cst.BaseExpression]) -> bool:
    """Whether the sizes to change are all places that must change with them."""
    literals = {size.literal for size in sizes}
    for literal in file.tree.find(cst.Integer):
        inside = any(above is scope for above in file.tree.ancestors(literal))
        if literal.evaluated_value == value and inside and literal not in literals:
            return False
    return all(_uses(file, size) <= used for size in sizes if size.used is not size.literal)


def _uses(file: File, size: Size) -> set[cst.BaseExpression]:
    """Every expression that reads the constant which a size is given by."""
    if isinstance(size.used, cst.Name):
        bindings = file.names.bindings(size.used.value, size.used)
        return {
            name
            for name in file.tree.find(cst.Name)
            if name.value == size.used.value
            and all(binding.node is not name for binding in bindings)
            and not isinstance(file.tree.parent(name), (cst.Attribute, cst.Param, cst.ImportAlias))
            and file.names.bindings(name.value, name) == bindings
        }
    assert isinstance(size.used, cst.Attribute)
    return {
        attribute
        for attribute in file.tree.find(cst.Attribute)
        if attribute.attr.value == size.used.attr.value
        and not isinstance(file.tree.parent(attribute), cst.AssignTarget)
    }
