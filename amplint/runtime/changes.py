"""What differs between two texts of a program: statements, and in those that have a counterpart the smallest expressions.

Comments, layout and docstrings are no difference. A statement that has moved, into a block or past another one, is taken out in
one place and put in in the other. Imports are told apart by what they bind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from textwrap import shorten

_ALIKE = 0.5
"""The share of text that two statements have in common at least, if one has become the other."""


@dataclass(frozen=True)
class Change:
    """A part of the code that is not in both texts.

    Attributes:
        old: the statement or expression as it stands; None for one that is put in.
        new: the same with the repair; None for one that is taken out.
        statement: the statement that `new` is or is in, or else that of `old`.
    """

    old: ast.AST | None
    new: ast.AST | None
    statement: ast.stmt

    @property
    def text(self) -> str:
        """The statement in one line, without its body."""
        return shorten(_header(self.statement), 60, placeholder=" ...")


@dataclass(frozen=True)
class _Line:
    """A statement, and what tells it from others: its text without its body, and the headers that it is under."""

    node: ast.stmt
    key: tuple[str, ...]


def changes(before: str, after: str) -> list[Change]:
    """What differs between two texts, both of which parse, in the order of the second.

    Args:
        before: the code as it stands.
        after: the code with the repair.
    """
    mine, theirs = list(_lines(ast.parse(before), ())), list(_lines(ast.parse(after), ()))
    matcher = SequenceMatcher(None, [one.key for one in mine], [one.key for one in theirs], autojunk=False)
    found: list[Change] = []
    for tag, start, end, there, until in matcher.get_opcodes():
        if tag != "equal":
            found += _between([one.node for one in mine[start:end]], [one.node for one in theirs[there:until]])
    return found


def _lines(tree: ast.AST, above: tuple[str, ...]) -> Iterator[_Line]:
    for _, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else ():
            if isinstance(node, ast.stmt):
                if not _is_docstring(node):
                    key = (*above, _header(node))
                    yield _Line(node, key)
                    yield from _lines(node, key)
            elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
                yield from _lines(node, (*above, type(node).__name__))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _header(node: ast.stmt) -> str:
    text = ast.unparse(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return text.partition(ast.unparse(node.body[0]))[0] if node.body else text
    return text.splitlines()[0] if hasattr(node, "body") else text


def _between(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Iterator[Change]:
    """The changes between two runs of statements, none of which is in the other."""
    waiting = list(old)
    for statement in new:
        counterpart = next((one for one in waiting if _is_alike(one, statement)), None)
        if counterpart is None:
            yield Change(None, statement, statement)
            continue
        for skipped in waiting[: waiting.index(counterpart)]:
            yield Change(skipped, None, skipped)
        waiting = waiting[waiting.index(counterpart) + 1 :]
        yield from (Change(*pair, statement) for pair in _apart(counterpart, statement))
    yield from (Change(one, None, one) for one in waiting)


def _is_alike(old: ast.stmt, new: ast.stmt) -> bool:
    if type(old) is not type(new):
        return False
    return SequenceMatcher(None, _header(old), _header(new), autojunk=False).ratio() >= _ALIKE


def _apart(old: ast.AST, new: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The smallest parts of two trees in which they differ; bodies of statements are statements of their own."""
    if type(old) is not type(new):
        yield old, new
        return
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for name in old._fields:
        mine, theirs = getattr(old, name), getattr(new, name)
        if name in ("body", "orelse", "finalbody", "handlers", "cases") and isinstance(mine, list):
            continue
        mine, theirs = (each if isinstance(each, list) else [each] for each in (mine, theirs))
        is_tree = all(isinstance(each, ast.AST) for each in (*mine, *theirs))
        if len(mine) != len(theirs) or (not is_tree and mine != theirs):
            yield old, new
            return
        pairs += zip(mine, theirs) if is_tree else ()
    for one, other in pairs:
        if ast.dump(one) != ast.dump(other):
            yield from _apart(one, other)
