"""What binds the names of a module, told from Python's own tree: imports, and all else that would have to be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from amplint.model.records import NamedTuple
from amplint.python_ast.walk import FIELDS, levels

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Bound(NamedTuple):
    """One place where a name of a module is bound: its row, and what it imports, as written; empty where it imports nothing.

    The row of what only a function binds is 0. The name of a star is `*`.
    """

    name: str
    row: int
    imported: str = ""


class ModuleBindings:
    """The names that the statements of a module bind outside of its functions and classes, or by `global`.

    Args:
        module: the tree.
        text: the text of it.
    """

    def __init__(self, module: ast.Module, text: str) -> None:
        self._module, self._text = module, text

    def of(self, name: str) -> list[Bound]:
        """The places where a name is bound, in the order of their rows."""
        return self._by_name.get(name, [])

    @cached_property
    def _by_name(self) -> dict[str, list[Bound]]:
        found: dict[str, list[Bound]] = {}
        for each in sorted((*self._at_the_top(), *self._from_inside()), key=lambda bound: bound.row):
            found.setdefault(each.name, []).append(each)
        return found

    def _at_the_top(self) -> Iterator[Bound]:
        waiting: list[ast.AST] = [*self._module.body]
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from _imported(node)
            elif (name := _name_bound_by(node)) is not None:
                yield Bound(name, getattr(node, "lineno", 0))
            waiting += _outside_of_scopes(node)

    def _from_inside(self) -> Iterator[Bound]:
        """The names that functions bind by `global`, or may, by `nonlocal`."""
        if "global" in self._text or "nonlocal" in self._text:
            nodes = (node for level in levels(self._module) for node in level)
            declared = (node.names for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)))
            yield from (Bound(name, 0) for names in declared for name in names)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Bound]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield Bound(alias.asname or top, node.lineno, alias.name if alias.asname else top)
        return
    source = "." * node.level + (node.module or "")
    separator = "" if source.endswith(".") else "."
    for alias in node.names:
        yield Bound(alias.asname or alias.name, node.lineno, f"{source}{separator}{alias.name}")


def _name_bound_by(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ExceptHandler(name=caught) | ast.MatchAs(name=caught) | ast.MatchStar(name=caught):
            return caught
    return None


def _outside_of_scopes(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node and is evaluated where the node itself is."""
    if isinstance(node, _FUNCTIONS):
        yield from (*node.decorator_list, node.args, *filter(None, [node.returns]))
    elif isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
    elif isinstance(node, ast.Lambda):
        yield node.args
    else:
        for name in FIELDS[type(node)]:
            value = getattr(node, name)
            if isinstance(value, list):
                yield from filter(None, value)
            elif value is not None:
                yield value
