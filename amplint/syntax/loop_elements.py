"""Which name of a loop's target takes elements of which collection."""

from __future__ import annotations

import libcst as cst

from amplint.syntax.access_paths import path_of


def paired(target: cst.BaseExpression, source: cst.BaseExpression) -> list[tuple[cst.Name, cst.BaseExpression]]:
    """The names that a loop assigns, each with the collection of its elements, through enumerate, zip, values and items.

    Names that take parts of one element, of a list of pairs or of what an unknown function yields, share a collection.

    Args:
        target: what the loop assigns.
        source: what it runs over.
    """
    if isinstance(source, cst.Call):
        called = path_of(source.func)
        names = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
        if called == "enumerate" and len(names) == 2 and source.args:
            return paired(names[1], source.args[0].value)
        if called == "zip" and len(names) == len(source.args):
            return [pair for name, arg in zip(names, source.args) for pair in paired(name, arg.value)]
        if isinstance(source.func, cst.Attribute) and source.func.attr.value in ("values", "items") and not source.args:
            return paired(names[-1], source.func.value)
        if called in ("list", "tuple", "reversed") and len(source.args) == 1:
            return paired(target, source.args[0].value)
    names = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    return [(name, source) for name in names if isinstance(name, cst.Name)]
