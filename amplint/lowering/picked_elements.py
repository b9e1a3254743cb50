"""Elements that functions pick by a number or a key which they are given: `self.optimizers[key]`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.lowering.function_scope import OBJECTS, FunctionScope, picked_by
from amplint.model.references import ELEMENT
from amplint.roles.call_targets import Callee
from amplint.syntax.call_arguments import given_by, params_of

_QUOTES = "'\""
_MOST_HANDED_ON = 2
"""A key is followed through so many functions that only hand it on."""

Given = tuple[str, str | cst.BaseExpression]
"""A parameter, and what a call gives it: an expression, or a reference."""


def meanings_of_keys(callee: Callee, given: list[Given], caller: FunctionScope) -> Iterator[tuple[str, str]]:
    """What the elements that a called function picks by its parameters are to the caller: `[key]` is `["encoder"]` where that is
    given, any element where a loop runs over the keys, and, without brackets, the parameter of the caller that is handed on.

    Args:
        callee: the function that is called.
        given: its parameters, with what the call gives them.
        caller: the scope in which the call stands.
    """
    for name, value in given:
        meant = _meant(value, caller)
        if meant and any(picked(callee.node, name, caller)):
            yield f"[{name}]", meant


def _meant(value: str | cst.BaseExpression, caller: FunctionScope) -> str:
    if isinstance(value, (cst.SimpleString, cst.Integer)):
        return f"[{value.value.strip(_QUOTES)}]"
    if not isinstance(value, cst.Name):
        return ""
    if value.value in caller.picking:
        return ELEMENT
    name = caller.aliases.get(value.value, value.value)
    bound = caller.bound.get(name, ())
    is_own = name in caller.aliases.values() or len(bound) == 1
    return name if is_own and any(isinstance(each.node, cst.Param) for each in bound) else ""


def picked(
    function: cst.FunctionDef, name: str, scope: FunctionScope, hops: int = _MOST_HANDED_ON
) -> Iterator[cst.Subscript]:
    """The elements that a function picks by a parameter, or that those pick which it hands the parameter on to.

    Args:
        function: the function.
        name: the parameter.
        scope: any scope of the file.
        hops: through how many further functions it is followed.
    """
    tree = scope.program.tree
    yield from (each for each in tree.inside(function, cst.Subscript) if picked_by(each) == name)
    if hops:
        yield from picked_by_calls(function, name, scope, hops - 1)


def picked_by_calls(node: cst.CSTNode, name: str, scope: FunctionScope, hops: int = 1) -> Iterator[cst.Subscript]:
    """The elements that functions pick by what calls hand them under a name.

    Args:
        node: what the calls stand in.
        name: the name.
        scope: any scope of the file.
        hops: through how many further functions it is followed.
    """
    for call in scope.program.tree.inside(node, cst.Call):
        handed = [arg.value for arg in call.args if type(arg.value) is cst.Name and arg.value.value == name]
        callee = scope.program.callees.of(call) if handed else None
        for param in params_of(callee.node) if callee is not None else ():
            if callee is not None and given_by(call, callee.node, param.name.value) in handed:
                yield from picked(callee.node, param.name.value, scope, hops)


def are_objects(elements: Iterator[cst.Subscript], scope: FunctionScope) -> bool:
    """Whether any of some elements is an optimizer, a scaler or a schedule.

    Args:
        elements: the elements.
        scope: any scope of the file.
    """
    return any(scope.roles.of(each).role in OBJECTS for each in elements)
