"""Methods of scalers that are held as values (`update = scaler.update`), and calls that may run them."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.syntax.access_paths import path_of
from amplint.syntax.value_flow import ValueFlow

_METHODS = frozenset({"scale", "step", "unscale_", "update"})


def holds_method(node: cst.BaseExpression, scope: FunctionScope) -> bool:
    """Whether a method of a scaler stands in an expression as a value, not called there.

    Args:
        node: the expression.
        scope: that of the function which it stands in.
    """
    tree = scope.program.tree
    for each in tree.inside(node, cst.Attribute):
        if each.attr.value in _METHODS and scope.roles.of(each.value).role == "scaler":
            above = tree.parent(each)
            if not (isinstance(above, cst.Call) and above.func is each):
                return True
    return False


def may_run_method(call: cst.Call, scope: FunctionScope) -> bool:
    """Whether what a call runs may be such a value: assigned to a name or an attribute, an element that a loop goes through, or
    what a function in sight returns.

    Args:
        call: a call of no function that is known.
        scope: that of the function which it stands in.
    """
    flow = scope.program.flow
    waiting, seen = [call.func], set[str]()
    while waiting:
        path = path_of(each := waiting.pop())
        if path and path not in seen:
            seen.add(path)
            assigned = [*flow.values(each), *scope.looped_over(each)]
            assigned += [value for made in assigned for value in flow.returned(_called(made, flow))]
            if any(holds_method(value, scope) for value in assigned):
                return True
            waiting += [value for value in assigned if path_of(value)]
    return False


def _called(value: cst.BaseExpression, flow: ValueFlow) -> cst.FunctionDef | None:
    return flow.called(value) if isinstance(value, cst.Call) else None
