"""The parameters of functions, and of the constructors of classes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TypeGuard

from amplint.callgraph.bound_names import Function
from amplint.callgraph.class_bodies import values_of
from amplint.model.records import NamedTuple
from amplint.model.torch import layers

_NAMED = (ast.Name, ast.Attribute)
_WRAPPERS = {name.rpartition(".")[2] for name in layers.WRAPPERS}


def takes(node: ast.stmt, name: str) -> TypeGuard[Function | ast.ClassDef]:
    """Whether a function, or the constructor of a class, has a parameter.

    Args:
        node: the function or class, or any other statement.
        name: the name of the parameter.
    """
    return name in parameter_names(node)


def parameter_names(node: ast.stmt) -> list[str]:
    """The parameters of a function, or of the constructor of a class, in the order in which a call gives them."""
    own = 0
    if isinstance(node, ast.ClassDef):
        node, own = constructor(node) or node, 1
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)][own:]


class KeptParameter(NamedTuple):
    """A parameter of a constructor that an attribute keeps, or (`is_called`) what calling it gives."""

    name: str
    is_called: bool


def kept_parameter(owner: ast.stmt, attribute: str) -> KeptParameter | None:
    """The parameter that an attribute of a class keeps, whatever wraps it (`network.to(device)`, `build_network()`,
    `DistributedDataParallel(network)`); None where the class gives it anything else.

    Args:
        owner: the class.
        attribute: the name of the attribute.
    """
    made = constructor(owner) if isinstance(owner, ast.ClassDef) else None
    if made is None:
        return None
    texts = {f"self.{attribute}", "None"}
    new = (each for each in values_of(owner, attribute) if not any(text in ast.unparse(each) for text in texts))
    found = {_kept(each) for each in new}
    kept = found.pop() if len(found) == 1 else None
    is_given = kept is not None and kept.name in parameter_names(owner) and not is_assigned(made, kept.name)
    return kept if is_given else None


def constructor(owner: ast.ClassDef) -> ast.FunctionDef | None:
    """The constructor of a class, if it stands in its body."""
    return next((each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)


def _kept(value: ast.expr) -> KeptParameter | None:
    called = False
    while isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute) and func.attr in layers.SAME_MODULE:
            value = func.value
        elif (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) in _WRAPPERS and value.args:
            value = value.args[0]
        elif called:
            return None
        else:
            value, called = func, True
    return KeptParameter(value.id, called) if isinstance(value, ast.Name) else None


def is_assigned(function: ast.AST, name: str) -> bool:
    """Whether a function gives a name another value.

    Args:
        function: the function.
        name: the name, that of a parameter for instance.
    """
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name)
    return any(isinstance(node.ctx, ast.Store) for node in names)


def accepts(function: Function, given: Collection[str], own: int) -> bool:
    """Whether a function can be called with some arguments, as far as they are known.

    Args:
        function: the function.
        given: what a call gives, each by its position ("0") or keyword; a star for what it spreads.
        own: how many parameters come before them: 1 for `self`.
    """
    spec = function.args
    ordered = [each.arg for each in (*spec.posonlyargs, *spec.args)][own:]
    by_position = sum(each.isdigit() for each in given)
    if by_position > len(ordered) and spec.vararg is None:
        return False
    if spec.kwarg is None and not {each for each in given if each.isidentifier()}.issubset(parameter_names(function)):
        return False
    if any("*" in each for each in given):
        return True
    only_named = [each.arg for each, value in zip(spec.kwonlyargs, spec.kw_defaults) if value is None]
    needed = [*ordered[by_position : len(ordered) - len(spec.defaults)], *only_named]
    return set(needed).issubset(given)


def asked_constants(node: ast.ClassDef, call: ast.Call) -> Iterator[tuple[str, str | bool]]:
    """The constants that a call gives to a constructor and that decide something: texts that it compares with others, and flags
    that the object keeps and asks in some branch.

    Args:
        node: the class.
        call: makes an object of it.
    """
    constants = [
        (name, each.value) for name, each in given_to_constructor(node, call) if isinstance(each, ast.Constant)
    ]
    texts = [(name, value) for name, value in constants if isinstance(value, str)]
    flags = [(name, value) for name, value in constants if isinstance(value, bool)]
    asked = _compared(node) if texts else ()
    yield from ((name, text) for name, text in texts if name in asked)
    kept = _kept_and_asked(node) if flags else ()
    yield from ((name, flag) for name, flag in flags if name in kept)


def given_to_constructor(node: ast.ClassDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call gives to the parameters of a constructor; nothing where it spreads its arguments.

    Args:
        node: the class.
        call: makes an object of it.
    """
    if not any(isinstance(each, ast.Starred) for each in call.args):
        yield from zip(parameter_names(node), call.args)
        yield from ((each.arg, each.value) for each in call.keywords if each.arg is not None)


def _compared(node: ast.ClassDef) -> set[str]:
    """The names of what a constructor compares with something."""
    made = constructor(node)
    tests = (each.left for each in ast.walk(made) if isinstance(each, ast.Compare)) if made is not None else ()
    return {each.id if isinstance(each, ast.Name) else each.attr for each in tests if isinstance(each, _NAMED)}


def _kept_and_asked(node: ast.ClassDef) -> set[str]:
    """The parameters of a constructor that the object keeps as attributes which some branch asks."""
    branches = (each.test for each in ast.walk(node) if isinstance(each, ast.If))
    asked = {each.attr for each in branches if isinstance(each, ast.Attribute)}
    assigned = (each for each in ast.walk(constructor(node) or node) if isinstance(each, ast.Assign))
    return {
        each.value.id
        for each in assigned
        if isinstance(each.value, ast.Name)
        if any(isinstance(target, ast.Attribute) and target.attr in asked for target in each.targets)
    }
