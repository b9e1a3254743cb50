"""`str` of a device: written where it is used, or given back by a function that got the device."""

from __future__ import annotations

import libcst as cst

from amplint.rule import File


def stringified(file: File, value: cst.CSTNode) -> cst.BaseExpression | None:
    """What `str` is called with, if a value is such a call."""
    if isinstance(value, cst.Call) and len(value.args) == 1 and file.names.all_in(value.func, {"builtins.str"}):
        return value.args[0].value
    return None


def stringified_by_helper(file: File, value: cst.CSTNode) -> cst.BaseExpression | None:
    """The argument of which a function gives back `str`, alone or at one place of a tuple; None for any other value.

    Args:
        file: the file.
        value: the call of the function, or the name that takes its place of the tuple.
    """
    call, place = (value, None) if isinstance(value, cst.Call) else _unpacked(file, value)
    callee = file.callees.of(call, wherever=True) if call is not None else None
    if call is None or callee is None or callee.receiver is not None:
        return None
    results = [_at(each.value, place) for each in file.tree.inside(callee.node, cst.Return)]
    named = {id(param): param for result in results for param in _parameters(file, result)}
    if len(named) != 1 or any(not _parameters(file, result) for result in results):
        return None
    written = [arg.value for arg in call.args]
    given = [each for param in named.values() for each in file.flow.given_to(param)]
    return next((each for each in given if any(each is arg for arg in written)), None)


def _unpacked(file: File, name: cst.CSTNode) -> tuple[cst.Call | None, int | None]:
    """The call from whose tuple a name takes one place, and which; None for any other name, and for one that is bound twice."""
    found = file.names.bindings(name.value, name) if isinstance(name, cst.Name) else []
    node = found[0].node if len(found) == 1 else None
    assign = file.tree.enclosing(node, cst.Assign) if node is not None else None
    if not isinstance(assign, cst.Assign) or not isinstance(assign.value, cst.Call) or len(assign.targets) != 1:
        return None, None
    target = assign.targets[0].target
    elements = [each.value for each in target.elements] if isinstance(target, cst.Tuple) else []
    places = [place for place, each in enumerate(elements) if each is node]
    return (assign.value, places[0]) if places else (None, None)


def _at(value: cst.BaseExpression | None, place: int | None) -> cst.BaseExpression | None:
    """The element of a tuple that is written out; the value itself without a place."""
    if place is None:
        return value
    whole = isinstance(value, cst.Tuple) and place < len(value.elements)
    return value.elements[place].value if whole and isinstance(value, cst.Tuple) else None


def _parameters(file: File, result: cst.BaseExpression | None) -> list[cst.Param]:
    """The parameter of which a value is `str`; empty for any other value."""
    device = stringified(file, result) if result is not None else None
    bindings = file.names.bindings(device.value, device) if isinstance(device, cst.Name) else []
    return [each.node for each in bindings if isinstance(each.node, cst.Param)]
