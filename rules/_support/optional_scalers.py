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
    if callee.node.name.value == "__init__":
        return False
    returns = [each for each in file.tree.inside(callee.node, cst.Return) if file.tree.function(each) is callee.node]
    given = [each.value for each in returns if each.value is not None]
    held = [value for each in given if isinstance(each, cst.Name) for value in file.roles.values(each)]
    return len(given) < len(returns) or _may_fall_off(callee.node.body) or any(map(holds_none, (*given, *held)))


def _may_fall_off(block: cst.BaseSuite) -> bool:
    """Whether control may come to the end of a block, for all that its last statement shows."""
    match block.body[-1]:
        case cst.SimpleStatementLine(body=small):
            return not isinstance(small[-1], (cst.Return, cst.Raise))
        case cst.If(body=body, orelse=orelse):
            if isinstance(orelse, cst.If):
                return _may_fall_off(body) or _may_fall_off(cst.IndentedBlock([orelse]))
            return orelse is None or _may_fall_off(body) or _may_fall_off(orelse.body)
        case cst.With(body=body):
            return _may_fall_off(body)
        case cst.Return() | cst.Raise():  # behind the colon
            return False
    return False


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
