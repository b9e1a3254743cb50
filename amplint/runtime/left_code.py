"""What a change makes of the order in which code is left: statements that now stand behind a jump, other loops to return from."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import shorten

from amplint.runtime.statement_parts import header_of

_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody")


def newly_left(before: str, after: str) -> list[str]:
    """The statements that a change puts behind a jump, and those that return from another loop than before, in words.

    Args:
        before: the code as it stands.
        after: the code with the change; both parse.
    """
    trees = [ast.parse(text) for text in (before, after)]
    known, now = (Counter(_behind_jumps(tree)) for tree in trees)
    dead = now - known
    old, new = (Counter(_returns(tree.body, ())) for tree in trees)
    gone = {text for text, _ in old - new}
    elsewhere = [text for text, _ in new - old if text in gone]
    return [
        *(f"`{text}`, which is not reached any more" for text in dead),
        *(f"`{text}` in another loop" for text in elsewhere),
    ]


def _behind_jumps(tree: ast.Module) -> Iterator[str]:
    """The statements that stand behind a jump in the same block."""
    for node in ast.walk(tree):
        for name in (*_BLOCKS, "handlers"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            places = [place for place, each in enumerate(block) if isinstance(each, _JUMPS)]
            if places:
                yield from (shorten(header_of(each), 60, placeholder=" ...") for each in block[places[0] + 1 :])


def _returns(block: Sequence[ast.stmt], around: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The statements that give something back, each with the definition and the loops around it."""
    for statement in block:
        if isinstance(statement, ast.Return) and statement.value is not None:
            yield ast.unparse(statement), around
        inner = around
        if isinstance(statement, _LOOPS):
            inner = (*around, "loop")
        elif isinstance(statement, _DEFINITIONS):
            inner = (statement.name,)
        for name in _BLOCKS:
            yield from _returns(getattr(statement, name, None) or [], around if name == "orelse" else inner)
        for handler in getattr(statement, "handlers", ()):
            yield from _returns(handler.body, inner)
