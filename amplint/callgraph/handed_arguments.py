"""What the calls of a file give to the parameters of functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from amplint.callgraph.assigned_values import AssignedValues
from amplint.callgraph.definitions import Definition, Scope
from amplint.callgraph.parameters import parameter_names

Argument = tuple[ast.expr, Scope]
"""An expression that a call gives, and the function in which the call stands."""

Called = Callable[[Path, ast.expr, Scope], Iterable[Definition]]
"""Tells the functions and classes that an expression of a file may stand for, where a call in some function calls it."""


class HandedArguments:
    """Goes through the calls of a file once for all functions that have a parameter of some name at some position.

    Args:
        assigned_values: knows the calls.
    """

    def __init__(self, assigned_values: AssignedValues) -> None:
        self._assigned_values = assigned_values
        self._definitions: dict[ast.Call, frozenset[Definition]] = {}
        self._given: dict[tuple[Path, str, int | None], Mapping[Definition, Sequence[Argument]]] = {}

    def given(self, function: Definition, name: str, path: Path, called: Called) -> Sequence[Argument]:
        """What the calls in a file give a function, in their order.

        Args:
            function: the function, or the class whose constructor it is.
            name: the name of the parameter.
            path: the file with the calls.
            called: tells what is called.
        """
        names = parameter_names(function.node)
        key = path, name, names.index(name) if name in names else None
        if key not in self._given:
            self._given[key] = self._by_function(*key, called)
        return self._given[key].get(function, ())

    def _by_function(
        self, path: Path, name: str, position: int | None, called: Called
    ) -> Mapping[Definition, Sequence[Argument]]:
        found: dict[Definition, list[Argument]] = {}
        for call, scope in self._assigned_values.calls(path):
            value = given_as(call, name, position)
            if value is None:
                continue
            if call not in self._definitions:
                self._definitions[call] = frozenset(called(path, call.func, scope))
            for definition in self._definitions[call]:
                found.setdefault(definition, []).append((value, scope))
        return found


def given_as(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """What a call gives to a parameter of some name, at some position; None where it gives nothing, or spreads what it gives.

    Args:
        call: the call.
        name: the name of the parameter.
        position: its position; None where it has none.
    """
    given = call.args[position] if position is not None and position < len(call.args) else None
    for each in call.keywords:
        if each.arg == name:
            given = each.value
    return None if given is None or any(type(each) is ast.Starred for each in call.args) else given
