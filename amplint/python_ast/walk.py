"""Trees of the stdlib `ast`, walked in half the time of `ast.walk`: of most nodes, most fields hold no nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_PLAIN = frozenset(
    "arg asname attr conversion ctx id is_async kind kwd_attrs level lineno module name op ops rest simple str tag "
    "type_comment".split()
)
"""Fields that hold identifiers, marks and operators, but no statements or expressions, whatever the node."""
_LEAVES = (ast.Constant, ast.MatchSingleton, ast.Global, ast.Nonlocal)


FIELDS = {
    kind: () if kind in _LEAVES else tuple(name for name in kind._fields if name not in _PLAIN)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The fields of each kind of node that may hold nodes."""


def levels(*nodes: ast.AST) -> Iterator[list[ast.AST]]:
    """These nodes, then all their children, then those of their children, down to the deepest.

    Operators and contexts (`Load`, `Store`, `Del`) are left out.
    """
    level = list(nodes)
    while level:
        yield level
        below: list[ast.AST] = []
        for node in level:
            for name in FIELDS[type(node)]:
                value = getattr(node, name)
                if type(value) is list:
                    below.extend(filter(None, value))
                elif value is not None:
                    below.append(value)
        level = below


_DEEPEST = 1_000
"""Levels of syntax. LibCST's native parser takes quadratic time to go deeper, and overflows the stack in the end."""
_COSTLIEST = 10_000_000
"""What patterns and targets of `del` may cost in one file, which is some seconds: LibCST's native parser reads what stands
in a pair of their brackets up to four times, and with it what stands in the pairs inside."""
_TOO_MANY = 12
"""Pairs of brackets around one word that cost more than that."""
_TELLING = frozenset({ast.BoolOp, ast.alias, ast.ImportFrom, ast.Match, ast.Delete})
"""The nodes in which LibCST finds more than Python does."""
_LONGEST = 1_000
"""Letters that a name may have: what searches names does so in native code, which takes the square of it or more."""
_LONG = re.compile(rf"\w{{{_LONGEST + 1}}}")
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = re.compile(r"#.*|\"[^\"\n]*\"|'[^'\n]*'|\w+|[^\w\s]")


def is_too_deep(module: ast.Module, text: str) -> bool:
    """Whether a text is nested more deeply than LibCST's native parser should be asked to go.

    Args:
        module: the tree of the text.
        text: the text, for brackets that leave no trace in the tree.
    """
    costly: list[ast.Match | ast.Delete] = []
    for depth, level in enumerate(levels(module)):
        telling = [node for node in level if type(node) in _TELLING]
        if depth == _DEEPEST or any(_below(node) > _DEEPEST for node in telling):
            return True
        costly.extend(node for node in telling if isinstance(node, (ast.Match, ast.Delete)))
    lines = _LINE_END.split(text) if costly else []
    return sum(_cost("\n".join(lines[rows])) for node in costly for rows in _reread(node)) > _COSTLIEST


def has_long_name(module: ast.Module, text: str) -> bool:
    """Whether a text holds a name that no person would write.

    Args:
        module: the tree of the text.
        text: the text, for a cheap look before the tree is walked.
    """
    if max(map(len, text.split()), default=0) <= _LONGEST or _LONG.search(text) is None:
        return False
    fields = (
        getattr(node, name) for node in ast.walk(module) for name in node._fields if type(node) is not ast.Constant
    )
    return any(isinstance(value, str) and len(value) > _LONGEST for value in fields)


def _below(node: ast.AST) -> int:
    """Levels of syntax that LibCST finds in a node which is flat for Python: `a and b and c ...`, `import a.b.c ...`."""
    if isinstance(node, ast.BoolOp):
        return len(node.values)
    if isinstance(node, ast.alias):
        return node.name.count(".")
    return (node.module or "").count(".") if isinstance(node, ast.ImportFrom) else 0


def _reread(node: ast.Match | ast.Delete) -> Iterator[slice]:
    """The rows of a `match` or a `del` whose brackets LibCST reads again and again."""
    if isinstance(node, ast.Delete):
        yield slice(node.lineno - 1, node.end_lineno)
        return
    first = node.subject.end_lineno or node.lineno
    for case in node.cases:
        # A tree does not tell where parentheses begin: all that stands before the first statement is looked at.
        yield slice(first - 1, case.body[0].lineno)
        first = case.body[-1].end_lineno or first


def _cost(rows: str) -> int:
    cost = depth = 0
    for mark in _MARK.finditer(rows):
        if mark[0] in "([{":
            depth += 1
        elif mark[0] in ")]}":
            depth = max(0, depth - 1)
        if depth == _TOO_MANY:
            return _COSTLIEST + 1
        cost += 4**depth
    return cost
