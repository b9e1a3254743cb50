"""The words of an expression: its identifiers and literals, as they are spelled."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.tree import children


def words(node: cst.CSTNode) -> Iterator[str]:
    """All identifiers and literals in an expression."""
    if isinstance(node, cst.SimpleString):
        yield node.value.strip("'\"")
    elif isinstance(node, (cst.Name, cst.Integer, cst.Float)):
        yield node.value
    for child in children(node):
        yield from words(child)
