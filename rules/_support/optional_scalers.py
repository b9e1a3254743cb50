"""Scalers of unknown origin, which a function is given or another object holds: where AMP is off they may be None."""

from __future__ import annotations

import libcst as cst

from amplint.rule import File

from .protocol_edits import same_object


def may_be_left_out(file: File, scaler: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether nothing shows that such a scaler is there at `place`: it may be left out, or is used under conditions only."""
    return _is_optional(file, scaler) or _is_used_under_conditions(file, scaler, place)


def holds_none(value: cst.BaseExpression) -> bool:
    """Whether a value is None, or may be by a conditional expression."""
    if isinstance(value, cst.IfExp):
        return holds_none(value.body) or holds_none(value.orelse)
    return isinstance(value, cst.Name) and value.value == "None"


def gives_none(file: File, value: cst.BaseExpression) -> bool:
    """Whether a value is None, or may be: by a conditional expression, or as a call of a function that returns None on some
    path."""
    callee = file.callees.of(value) if isinstance(value, cst.Call) else None
    if callee is None:
        return holds_none(value)
    returns = [each for each in file.tree.inside(callee.node, cst.Return) if file.tree.function(each) is callee.node]
    given = [each.value for each in returns if each.value is not None]
    held = [value for each in given if isinstance(each, cst.Name) for value in file.roles.values(each)]
    return len(given) < len(returns) or any(map(holds_none, (*given, *held)))


def _is_optional(file: File, scaler: cst.BaseExpression) -> bool:
    """Whether the parameter that a scaler comes from has None as its default, or gets None in a call that is in sight."""
    roles = file.roles
    names = [node for node in (scaler, *roles.values(scaler)) if isinstance(node, cst.Name)]
    nodes = [bound.node for name in names for bound in file.names.bindings(name.value, name)]
    defaults = [node.default for node in nodes if isinstance(node, cst.Param)]
    given = [value for name in names for value in roles.flow.given(name)]
    return any(value is not None and holds_none(value) for value in (*defaults, *given))


def _is_used_under_conditions(file: File, scaler: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether every use of a scaler of unknown origin stands under some `if` that `place` does not stand under."""
    path, around = file.tree.text(scaler), set(file.tree.ancestors(place))
    uses = [
        node
        for node in file.tree.find(cst.Attribute)
        if file.tree.text(node.value) == path and same_object(file, scaler, node)
    ]
    return bool(uses) and all(
        any(isinstance(above, cst.If) and above not in around for above in file.tree.ancestors(use)) for use in uses
    )
