"""The words of an expression: its identifiers and literals, as they are spelled."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.nodes import children


def words(node: cst.CSTNode) -> Iterator[str]:
    """All identifiers and literals in an expression."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        # Asked of every node: `isinstance` is many times slower, for nodes are abstract classes.
        if type(current) is cst.SimpleString:
            yield current.value.strip("'\"")
        elif type(current) is cst.Name or type(current) is cst.Integer or type(current) is cst.Float:
            yield current.value
        else:
            waiting.extend(reversed(children(current)))


def string_value(node: cst.SimpleString) -> str | bytes:
    """What a string stands for; of a plain one, its text tells."""
    text = node.value
    is_plain = text[0] in "'\"" and text[:3] not in ("'''", '"""') and "\\" not in text
    return text[1:-1] if is_plain else node.evaluated_value
