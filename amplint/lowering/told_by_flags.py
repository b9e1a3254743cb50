"""What a later test of a local name tells, by the values that the function gives it: which of two ways the program went."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.syntax.access_paths import path_of


def is_none_elsewhere(scope: FunctionScope, target: cst.BaseExpression) -> bool:
    """Whether a name is also assigned None, so that a test of it asks whether anything else was.

    Args:
        scope: the function.
        target: what is assigned.
    """
    if type(target) is not cst.Name:
        return False
    values = (each.value for each in scope.bound.get(target.value, ()))
    return any(type(value) is cst.Name and value.value == "None" for value in values)


def tells_of_step(scope: FunctionScope, target: cst.BaseExpression, step: int) -> bool:
    """Whether a name that gets a constant tells no more than that a scaler's step was called, as it had other values before.

    Args:
        scope: the function.
        target: what is assigned.
        step: the site of the step that comes before it whenever it happens; -1 where there is none.
    """
    if step < 0 or type(target) is not cst.Name:
        return False
    tree = scope.program.tree
    called = tree.order(scope.program.places[step])
    bound = scope.bound.get(target.value, ())
    later = {
        path_of(each.value) if each.value else "" for each in bound if each.node and tree.order(each.node) > called
    }
    return len(later) == 1
