"""Dicts and lists that are filled one element after the other."""

from __future__ import annotations

import libcst as cst

from amplint.syntax.access_paths import path_of
from amplint.syntax.value_uses import How, Use


def outer_element(target: cst.Subscript) -> cst.Subscript:
    """The element that an assignment changes, of one in a dict that is an element itself: `states["all"]` of
    `states["all"][name]`."""
    holder = target.value
    return holder if isinstance(holder, cst.Subscript) and not isinstance(holder.value, cst.Subscript) else target


def appended_to(use: Use) -> cst.BaseExpression | None:
    """The list that a value is appended to; None for any other use."""
    return _filled_by(use, "append")


def added_to(use: Use) -> str:
    """The path of a dict to which a value is added by `update`; empty for any other use."""
    collection = _filled_by(use, "update")
    return path_of(collection) if collection is not None else ""


def _filled_by(use: Use, method: str) -> cst.BaseExpression | None:
    """The collection whose method is given a value; None where that is no argument of the method."""
    func = use.node.func if isinstance(use.node, cst.Call) and use.how is How.ARGUMENT else None
    return func.value if isinstance(func, cst.Attribute) and use.name == method else None


def is_plain_update(call: cst.Call) -> bool:
    """Whether the keys that `update` adds can all be seen."""
    return all((arg.keyword is not None or isinstance(arg.value, cst.Dict)) and not arg.star for arg in call.args)
