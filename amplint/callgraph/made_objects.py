"""The modules and devices of PyTorch that expressions of a project make: `nn.CrossEntropyLoss()` of `criterion`, wherever that
is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import ATTRIBUTE, NAME, AssignedValue, AssignedValues, spelling_of
from amplint.callgraph.definitions import Definitions, Scope
from amplint.model.records import NamedTuple
from amplint.model.torch import layers

_MODULES, _DEVICE = "torch.nn.", "torch.device"
_MAX_HOPS = 6
"""Through so many names and functions an expression is followed."""
_REDUCING = frozenset({"reduction", "reduce", "size_average"})
"""What a loss is told when it is to give something else than the mean."""


class MadeObject(NamedTuple):
    """A call that makes a module or a device of PyTorch.

    Attributes:
        path: the file with the call.
        name: the class, such as `torch.nn.CrossEntropyLoss`.
        call: the call.
    """

    path: Path
    name: str
    call: ast.Call


class MadeObjects:
    """Follows expressions to the calls that make them.

    Args:
        definitions: those of the project.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions, self._assigned = definitions, AssignedValues(definitions)
        self._following: set[tuple[Path, str, Scope]] = set()

    def of(self, path: Path, value: ast.expr, scope: Scope, hops: int = 0) -> Iterator[MadeObject | None]:
        """What an expression may be made as; None for all that is neither a module nor a device, or that may be told to give no
        mean.

        Args:
            path: the file.
            value: the expression.
            scope: the function that it stands in.
            hops: through how many names and functions it was come by.
        """
        if hops > _MAX_HOPS:
            yield None
        elif isinstance(value, ast.IfExp):
            yield from self._of_all(path, [(value.body, scope), (value.orelse, scope)], hops)
        elif isinstance(value, ast.Call):
            yield from self._of_call(path, value, scope, hops)
        elif isinstance(value, ast.Name | ast.Attribute):
            yield from self._of_named(path, value, scope, hops)
        elif not (isinstance(value, ast.Constant) and value.value is None):
            yield None

    def _of_all(self, path: Path, values: Iterable[tuple[ast.expr, Scope]], hops: int) -> Iterator[MadeObject | None]:
        for value, scope in values:
            yield from self.of(path, value, scope, hops + 1)

    def _of_call(self, path: Path, call: ast.Call, scope: Scope, hops: int) -> Iterator[MadeObject | None]:
        func, spelling = call.func, spelling_of(call.func)
        if isinstance(func, ast.Attribute) and func.attr in layers.SAME_MODULE:
            yield from self.of(path, func.value, scope, hops + 1)
            return
        maker = self._definitions.find(path, spelling, scope)
        if maker is None:
            name = self._definitions.library_name(path, spelling, scope)
            is_known = name == _DEVICE or name.startswith(_MODULES)
            is_plain = is_known and not any(each.arg in {None, *_REDUCING} for each in call.keywords)
            yield MadeObject(path, name, call) if is_plain else None
        elif isinstance(maker.node, ast.ClassDef):
            yield None
        else:
            returns = [each.value for each in ast.walk(maker.node) if isinstance(each, ast.Return)]
            yield from self._of_all(maker.path, ((each, maker.node) for each in returns if each is not None), hops)

    def _of_named(
        self, path: Path, value: ast.Name | ast.Attribute, scope: Scope, hops: int
    ) -> Iterator[MadeObject | None]:
        spelling = spelling_of(value)
        name = spelling.removeprefix("self.")
        given = [each for each in self._assigned.of(path, name) if each.to == (NAME if spelling == name else ATTRIBUTE)]
        if spelling == name:
            own = [each for each in given if each.scope is scope]
            given = own or [each for each in given if each.scope is None]
        values = [(_meant(each), each.scope) for each in given]
        if not values:
            yield None
        elif (key := (path, spelling, scope)) not in self._following:  # `criterion = criterion.cuda()` says nothing new
            self._following.add(key)
            yield from self._of_all(path, values, hops)
            self._following.discard(key)


def _meant(given: AssignedValue) -> ast.expr:
    """What is assigned, of a tuple the element; the whole where that cannot be told."""
    if given.part >= 0 and isinstance(given.value, ast.Tuple) and given.part < len(given.value.elts):
        return given.value.elts[given.part]
    return given.value if given.part < 0 else ast.Constant(...)
