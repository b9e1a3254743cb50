"""What a program saves of its objects: whether a repair still does so where the fix of the rule does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from amplint.rule import File
from amplint.runtime.criterion import Observation, Question

_COPIES = frozenset({"state_dict", "deepcopy"})
"""Calls that give back what is to be saved."""


def lost_states(own: File, after: File) -> Iterator[Observation]:
    """The states that the fix of the rule saves, and a repair does not.

    Args:
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    kept = set(_copied(after))
    for text in dict.fromkeys(_copied(own)):
        yield Observation(Question.LOST, f"`{text}` in what is saved", True, text in kept)


def _copied(file: File) -> Iterator[str]:
    """The copies of states that reach what is saved, as far as the text tells."""
    tree = ast.parse(file.source.text)
    unread = {id(part) for each in _unread(tree) for part in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in unread:
            if ast.unparse(node.func).rpartition(".")[2] in _COPIES:
                yield ast.unparse(node)


def _unread(tree: ast.Module) -> Iterator[ast.AST]:
    """Values that another one takes the place of, that come too late, or that are taken of nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [ast.unparse(key) if key is not None else "" for key in node.keys]
            yield from (value for at, value in enumerate(node.values) if keys[at] and keys[at] in keys[at + 1 :])
        elif isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare):
            is_none = ast.unparse(node.test).endswith(" is None")
            yield node.body if is_none else node.orelse
        elif isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.With)):
            yield from _late(node.body)


def _late(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """What is put into something that is saved already."""
    saved: set[str] = set()
    for statement in block:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            if ast.unparse(statement.targets[0].value) in saved:
                yield statement
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.args:
            if ast.unparse(statement.value.func).rpartition(".")[2].startswith("save"):
                saved.add(ast.unparse(statement.value.args[0]))
