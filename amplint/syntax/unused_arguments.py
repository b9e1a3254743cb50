"""Arguments that functions and objects are given, and do nothing with but ask whether they are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.syntax.access_paths import path_of
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.nodes import children, within

_ANYTHING = frozenset({"getattr", "locals", "vars", "self.__dict__"})
"""What reads names and attributes that the text does not spell."""


def used_arguments(
    call: cst.Call, function: cst.FunctionDef, info: ClassInfo | None = None
) -> Iterator[cst.BaseExpression]:
    """What a call gives to a function that this does something with.

    Args:
        call: the call.
        function: what it runs; a method is taken to be called on an object.
        info: the class, if the call makes an object of it by this function.
    """
    given = {each.name.value: given_by(call, function, each.name.value) for each in params_of(function)}
    unused = [value for name, value in given.items() if value is not None and not uses(function, name, info)]
    yield from (arg.value for arg in call.args if not any(arg.value is each for each in unused))


def uses(function: cst.FunctionDef, name: str, info: ClassInfo | None = None) -> bool:
    """Whether a function, or the object that it makes ready, does anything with a parameter.

    Args:
        function: the function.
        name: the parameter.
        info: the class whose objects the function makes ready.
    """
    kept = _kept_as(name, function) if info is not None else set[str]()
    paths, bodies = {name}, [function.body]
    if info is not None and kept:
        paths |= kept
        bodies = [method.body for each in info.lineage for method in each.methods.values()]
    return any(path in paths or path in _ANYTHING for body in bodies for path in _used(body))


def _kept_as(name: str, function: cst.FunctionDef) -> set[str]:
    """The attributes of `self` that a parameter is kept as."""
    assigns = (node for node in within(function.body) if isinstance(node, cst.Assign) and path_of(node.value) == name)
    return {path for each in assigns for target in targets(each) if (path := path_of(target)).startswith("self.")}


def _used(node: cst.CSTNode) -> Iterator[str]:
    """The names and attributes that are read inside of a node for more than to ask whether they are there."""
    match node:
        case cst.Assign(value=value) if path_of(value) and all(
            path_of(each).startswith("self.") for each in targets(node)
        ):
            return  # kept for later: what comes of it, the attribute tells
        case cst.If(test=test, body=body, orelse=orelse) | cst.IfExp(test=test, body=body, orelse=orelse):
            parts: list[cst.CSTNode | None] = [None if _only_asks(test) else test, body, orelse]
        case cst.Name() | cst.Attribute() | cst.Subscript() if path_of(node):
            yield from _prefixes(path_of(node))
            return
        case cst.Call(
            func=cst.Name(value="getattr"), args=[owner, cst.Arg(value=cst.SimpleString() as name), *others]
        ) if path_of(owner.value):
            yield from _prefixes(f"{path_of(owner.value)}.{name.raw_value}")
            parts = list(others)
        case _:
            parts = list(children(node))
    for part in parts:
        if part is not None:
            yield from _used(part)


def _prefixes(path: str) -> Iterator[str]:
    """A path, and those of the objects that it goes through: `args.amp` and `args`."""
    return (path[: end.start()] for end in re.finditer(r"[.\[]|$", path))


def _only_asks(test: cst.BaseExpression) -> bool:
    """Whether a test asks nothing but whether something is there: `scaler`, `not scaler`, `scaler is not None`."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return _only_asks(inner)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=cst.Name(value="None"))]):
            return path_of(left) != ""
        case cst.BooleanOperation(left=left, right=right):
            return _only_asks(left) and _only_asks(right)
    return path_of(test) != ""
