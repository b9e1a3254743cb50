"""LibCST's nodes: what stands inside them, and how they are made without their constructors.

Of what is made from a tree that was parsed, nothing need be checked.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, Protocol, TypeGuard, cast

import libcst as cst

_LAYOUT = frozenset(
    "whitespace leading_lines lines_after_decorators lines_after_import header footer indent newline comma semicolon "
    "lpar rpar lbracket rbracket lbrace rbrace equal dot colon first_line empty_lines trailing_whitespace".split()
)

_PLAIN = frozenset({str, bool, type(None), cst.MaybeSentinel})
"""What a field may hold besides a node or several; nodes are abstract classes, of which `isinstance` is slow to ask."""
_REFERENCES = frozenset({cst.Name, cst.Attribute, cst.Subscript})
_SEQUENCES = frozenset({cst.Tuple, cst.List})


def is_reference(node: object) -> TypeGuard[cst.Name | cst.Attribute | cst.Subscript]:
    """Whether a node is a name, an attribute or an element: what can be assigned to; cheaper than `isinstance`."""
    return type(node) in _REFERENCES


def is_sequence(node: object) -> TypeGuard[cst.Tuple | cst.List]:
    """Whether a node is a tuple or a list that is written out; cheaper than `isinstance`."""
    return type(node) in _SEQUENCES


def is_expression(node: cst.CSTNode) -> TypeGuard[cst.BaseExpression]:
    """Whether a node is an expression; cheaper than `isinstance`."""
    return _is_expression(type(node))


def is_statement(node: cst.CSTNode) -> TypeGuard[cst.BaseSmallStatement | cst.BaseCompoundStatement]:
    """Whether a node is a statement, small or compound, and not the line of small ones; cheaper than `isinstance`."""
    return _is_statement(type(node))


@cache
def _is_statement(kind: type[cst.CSTNode]) -> bool:
    return issubclass(kind, (cst.BaseSmallStatement, cst.BaseCompoundStatement))


@cache
def _is_expression(kind: type[cst.CSTNode]) -> bool:
    return issubclass(kind, cst.BaseExpression)


@cache
def _contents(kind: type[cst.CSTNode]) -> Callable[[cst.CSTNode], tuple[Any, ...]] | None:
    """What gets the contents of the fields that may hold children; None where there are no such fields."""
    names = [
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in _LAYOUT and not field.name.startswith(("whitespace", "_")) and field.type is not str
    ]
    if not names:
        return None
    # Of one field, `attrgetter` would give the content, and not a tuple.
    return attrgetter(*names) if len(names) > 1 else lambda node: (getattr(node, names[0]),)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The direct children in source order, without white space, commas and parentheses."""
    found: list[cst.CSTNode] = []
    contents = _contents(type(node))
    if contents is None:  # every other node is a name, a number or a mark
        return found
    for value in contents(node):
        kind = type(value)
        if kind is tuple or kind is list:
            found.extend(value)
        elif kind not in _PLAIN:
            found.append(value)
    return found


def within(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything inside it, in source order, without white space, commas and parentheses."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def maker(kind: type[cst.CSTNode], *names: str) -> Callable[..., Any]:
    """What makes nodes of one kind.

    Args:
        kind: the kind.
        *names: the fields that are given, in the order in which they will be; all others have their defaults.
    """
    rest = [field for field in dataclasses.fields(kind) if field.name not in names]
    known: dict[str, object] = {"new": kind.__new__, "kind": kind}
    known.update((f"put_{field.name}", getattr(kind, field.name).__set__) for field in dataclasses.fields(kind))
    known.update((f"default_{field.name}", _default(field)) for field in rest)
    # Written out, as `dataclass` does it: loops over the fields would take as long again as what they do.
    rows = [f"def make({', '.join(names)}):", "node = new(kind)"]
    rows += [f"put_{name}(node, {name})" for name in names]
    rows += [f"put_{field.name}(node, default_{field.name})" for field in rest]
    exec("\n    ".join([*rows, "return node"]), known)
    return cast("Callable[..., Any]", known["make"])


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else cst.MaybeSentinel.DEFAULT


class NodeLookup(Protocol):
    """What is known when the node of a statement or an expression is made: those inside it, and the text."""

    def __getitem__(self, node: ast.AST | None) -> Any:
        """The node for one of Python's; None for None."""

    def kept(self, block: list[Any]) -> list[Any]:
        """The statements of a block that count."""

    def block(self, statements: list[Any]) -> Any:
        """What stands below a colon: on rows of its own, or behind the colon."""

    def orelse(self, statements: list[Any]) -> Any:
        """What follows `else` or `elif`; None for nothing."""

    def text(self, node: Any) -> str:
        """The text of a node of Python's tree."""

    def has_parentheses(self, node: ast.Tuple) -> bool:
        """Whether a tuple stands in parentheses of its own."""
