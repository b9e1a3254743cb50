"""Tables that are written out, and containers of modules that are made of them: what may be one of their elements."""

from __future__ import annotations

import ast
from typing import TypeGuard

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.registries import key
from amplint.model.records import NamedTuple

_CONTAINERS = frozenset({"ModuleDict", "ModuleList", "OrderedDict"})
"""What holds the elements of the table that it is made of."""
_CHAIN = "Sequential"
"""What holds, and runs in turn, the modules that it is given."""


class Element(NamedTuple):
    """An expression that stands for an element of a table; `nested` when it is a table that the elements are in."""

    value: ast.expr
    nested: bool = False


def is_container(value: ast.expr) -> TypeGuard[ast.Call]:
    """Whether an expression makes a container: `nn.ModuleDict({"main": Loss()})`, `nn.Sequential(Head(), Tail())`.

    Args:
        value: the expression.
    """
    if not isinstance(value, ast.Call):
        return False
    called = _called(value)
    return called == _CHAIN or called in _CONTAINERS and len(value.args) == 1


def elements_written_out(table: ast.expr, wanted: str) -> list[Element] | None:
    """What may be an element of a table, or of a container of it; None where the table is not written out.

    Args:
        table: the expression.
        wanted: the key of the element; all are meant where the table does not have it.
    """
    match table:
        case ast.Dict(keys=keys, values=values):
            names = [key(each) if each is not None else "" for each in keys]
            return [Element(values[names.index(wanted)])] if wanted and wanted in names else [*map(Element, values)]
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return [*map(Element, values)]
        case ast.ListComp(elt=value):
            return [Element(value)]
        case ast.Call(args=args) if is_container(table):
            stars = (each.value if isinstance(each, ast.Starred) else None for each in args)
            modules = _called(table) == _CHAIN
            return [Element(star or each, bool(star) or not modules) for each, star in zip(args, stars)]
    return None


def _called(call: ast.Call) -> str:
    return spelling_of(call.func).rpartition(".")[2]
