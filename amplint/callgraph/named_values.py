"""What names and attributes of a file lead to: what they are defined or imported as, and what they are assigned."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import ATTRIBUTE, NAME, AssignedValue, AssignedValues, spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.model.caller_contexts import Given
from amplint.model.records import NamedTuple

Wanted = str | int
"""Of a tuple that is returned, which part is meant: by position, or by its name; of all else, the whole."""


class Held(NamedTuple):
    """What an expression may hold: a function, a class, or what is `made` by calling it: an object of the class, or a function
    that the function defines and returns. Where it was looked up in a `registry`, or in a table at the top of a file, without a
    key that is known, any other that stands there may be meant as well. An object is `given` what its constructor asks for, by
    parameter."""

    definition: Definition
    made: bool = False
    registry: tuple[Path, str] | None = None
    given: tuple[tuple[str, Given], ...] = ()


class NamedValues(ABC):
    """Follows names; what expressions of other kinds may hold is left to the floor above.

    Args:
        definitions: those of the project.
    """

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self._assigned_values = AssignedValues(definitions)

    @abstractmethod
    def _of(self, path: Path, value: ast.expr, scope: Scope, wanted: Wanted = "", hops: int = 0) -> Iterator[Held]:
        """What an expression may hold.

        Args:
            path: the file.
            value: the expression.
            scope: the function that it stands in.
            wanted: which part is meant, if it gives several.
            hops: through how many names and functions it was come by.
        """

    def _of_named(self, path: Path, value: ast.Name | ast.Attribute, scope: Scope, hops: int) -> Iterator[Held]:
        found, name = self.definitions.find(path, spelling_of(value), scope), spelling_of(value).rpartition(".")[2]
        homes = self._homes(path, value, scope)
        assigned = [(home, each) for home, name in homes for each in self._assigned(home, name, scope)]
        if found is not None and not any(each.scope is not None for _, each in assigned):
            yield Held(found)
            return
        if spelling_of(value) == f"self.{name}":
            assigned = [(path, each) for each in self._assigned_values.of(path, name) if each.to == ATTRIBUTE]
        for home, given in assigned:
            yield from self._of_given(home, given, name, hops + 1)

    def _assigned(self, path: Path, name: str, scope: Scope) -> list[AssignedValue]:
        """What a name is assigned in a function, or at the top of its file."""
        return [
            each for each in self._assigned_values.of(path, name) if each.to == NAME and each.scope in (scope, None)
        ]

    def _of_given(self, path: Path, given: AssignedValue, name: str, hops: int) -> Iterator[Held]:
        value, part = given.value, given.part
        if part >= 0 and isinstance(value, ast.Tuple | ast.List):
            if part < len(value.elts):
                yield from self._of(path, value.elts[part], given.scope, name, hops)
        else:
            yield from self._of(path, value, given.scope, part if part >= 0 else name, hops)

    def _homes(self, path: Path, name: ast.expr, scope: Scope) -> Iterator[tuple[Path, str]]:
        """The files that may assign to a name of a file, each with what it is called there."""
        if isinstance(name, ast.Name):
            yield path, name.id
            yield from self.definitions.sources(path, name.id, scope)
        elif isinstance(name, ast.Attribute):
            module = self.definitions.imported_module(path, spelling_of(name.value), scope)
            if module is not None:
                yield module, name.attr
