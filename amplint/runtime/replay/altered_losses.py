"""What a repair puts around a loss: arithmetic with numbers that are written out, and methods that give it another form."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amplint.model.events import Assign, Backward, Event, Scale
from amplint.model.literals import number
from amplint.runtime.changes import Change
from amplint.runtime.replay.walked_side import Side
from amplint.runtime.statement_parts import has_part
from amplint.runtime.training.training_setup import Alteration

_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_FORMS = frozenset(("detach", "half", "float", "double", "bfloat16", "clone", "abs", "mean", "sum"))


def alterations(changes: Sequence[Change], after: Side) -> dict[int, Alteration]:
    """What changes do to losses, by the site at which it is done.

    Args:
        changes: what differs between the texts.
        after: the text with the fix, and the path in it.
    """
    found: dict[int, Alteration] = {}
    for change in changes:
        altered = alteration(change)
        if altered is not None and change.after is not None:
            alter, kind = altered
            found |= {event.site: alter for event in after.events_in(change.after) if isinstance(event, kind)}
    return found


def alteration(change: Change) -> tuple[Alteration, type[Event]] | None:
    """What a change does to a loss, and the kind of event that takes it; None where it does something else."""
    old, new, statement = change.old, change.new, change.after
    if statement is None or not (isinstance(old, ast.expr) and isinstance(new, ast.expr) and has_part(new, old)):
        return None
    alter, kind = _around(new, ast.dump(old)), _taken_by(new, statement)
    return None if alter is None or kind is None else (alter, kind)


def _taken_by(node: ast.expr, statement: ast.stmt) -> type[Event] | None:
    """The kind of event that takes the value of an expression, if it takes it as it is."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is node:
        return Assign
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr == "backward" and call.func.value is node:
                return Backward
            if call.func.attr == "scale" and any(each is node for each in call.args):
                return Scale
    return None


def _around(node: ast.expr, inner: str) -> Alteration | None:
    """What an expression makes of a part of it; None where that cannot be told."""
    if ast.dump(node) == inner:
        return lambda value: value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _then(_around(node.operand, inner), operator.neg)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _arithmetic(node, inner)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        form = node.func.attr
        return _then(_around(node.func.value, inner), operator.methodcaller(form)) if form in _FORMS else None
    return None


def _then(first: Alteration | None, second: Alteration) -> Alteration | None:
    return None if first is None else lambda value: second(first(value))


def _arithmetic(node: ast.BinOp, inner: str) -> Alteration | None:
    apply = _OPERATORS[type(node.op)]
    left, right = _around(node.left, inner), _around(node.right, inner)
    if left is not None and (factor := number(ast.unparse(node.right))) is not None:
        return lambda value: apply(left(value), factor)
    if right is not None and (factor := number(ast.unparse(node.left))) is not None:
        return lambda value: apply(factor, right(value))
    return None
