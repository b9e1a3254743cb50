"""Tests whether there is anything: a gradient, or an element of a list. They tell nothing of what the gradients are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from amplint.syntax.access_paths import called_name

Values = Callable[[cst.BaseExpression], Iterable[cst.BaseExpression]]


def asks_for_presence(node: cst.BaseExpression, values: Values) -> bool:
    """Whether the truth of an expression is that there is a gradient, or that a list of what is there has any element.

    Args:
        node: what is asked for its truth, or whether it is None.
        values: what a name may have been assigned.
    """
    if type(node) is cst.Attribute:
        return node.attr.value == "grad"
    assigned = list(values(node)) if type(node) is cst.Name else []
    return bool(assigned) and all(map(_lists_what_is_there, assigned))


def _lists_what_is_there(value: cst.BaseExpression) -> bool:
    """Whether a value is a list that is written down, or one of all that is there; what a test of numbers leaves tells more."""
    if type(value) is cst.Call and called_name(value) in ("list", "tuple") and len(value.args) == 1:
        given = value.args[0].value
        return called_name(given) == "parameters" or _lists_what_is_there(given)
    if isinstance(value, (cst.ListComp, cst.GeneratorExp)):
        loop: cst.CompFor | None = value.for_in
        while loop is not None:
            if not all(_is_asked_whether_there(each.test) for each in loop.ifs):
                return False
            loop = loop.inner_for_in
        return True
    return isinstance(value, (cst.List, cst.Tuple))


def _is_asked_whether_there(test: cst.BaseExpression) -> bool:
    match test:
        case cst.BooleanOperation(left=left, right=right):
            return _is_asked_whether_there(left) and _is_asked_whether_there(right)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(comparator=cst.Name(value="None"))]):
            return True
    return isinstance(test, cst.Attribute) and test.attr.value == "requires_grad"
