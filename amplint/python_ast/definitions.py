"""Functions and classes of a text: which of them a row lies in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from amplint.model.records import NamedTuple


class DefinitionRows(NamedTuple):
    """A function or a class: its name with those of the definitions around it, and its rows, decorators included."""

    name: str
    first: int
    last: int


@lru_cache(maxsize=64)
def definitions(text: str) -> tuple[DefinitionRows, ...]:
    """The definitions of a text, outer ones first; none where it does not parse."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_inside(module, ""))


def _inside(tree: ast.AST, prefix: str) -> Iterator[DefinitionRows]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield DefinitionRows(prefix + node.name, first, node.end_lineno or node.lineno)
            yield from _inside(node, f"{prefix}{node.name}.")
        else:
            yield from _inside(node, prefix)


def around(text: str, row: int) -> DefinitionRows | None:
    """The innermost definition of a text that a row lies in; None at the top.

    Args:
        text: the text.
        row: counted from 1.
    """
    return next((one for one in reversed(definitions(text)) if one.first <= row <= one.last), None)
