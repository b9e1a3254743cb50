"""What statements are made of: headers, blocks, conditions, names, and the smallest parts in which two of them differ."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of statements that hold other statements."""


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that must all hold where a condition does."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in conjuncts(value)]
    return [test]


def inner_blocks(old: ast.stmt, new: ast.stmt) -> Iterator[tuple[list[ast.stmt], list[ast.stmt]]]:
    """The blocks of two statements of one kind, side by side.

    Args:
        old: the one statement.
        new: the other one.
    """
    for name in _BLOCKS:
        mine, theirs = getattr(old, name, None), getattr(new, name, None)
        if name in ("handlers", "cases") and mine is not None and theirs is not None:
            for index in range(max(len(mine), len(theirs))):
                yield tuple(each[index].body if index < len(each) else [] for each in (mine, theirs))
        elif mine is not None and theirs is not None:
            yield mine, theirs


def header_of(node: ast.stmt) -> str:
    """A statement without the statements in it."""
    if not isinstance(getattr(node, "body", None), list):
        return ast.unparse(node)
    emptied = {name: [ast.Pass()] if name == "body" else [] for name in _BLOCKS if hasattr(node, name)}
    bare = type(node)(**{**dict(ast.iter_fields(node)), **emptied})
    if isinstance(bare, ast.Try):
        return "try:"
    return ast.unparse(ast.fix_missing_locations(bare)).rpartition("\n")[0]


def has_part(tree: ast.AST, part: ast.AST) -> bool:
    """Whether a tree has a part that is like another tree, and is more than that.

    Args:
        tree: the tree.
        part: the other one.
    """
    wanted = ast.dump(part)
    return any(ast.dump(each) == wanted for each in ast.walk(tree) if each is not tree)


def parts_apart(old: ast.AST, new: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The smallest parts of two trees in which they differ; statements in them are compared for themselves.

    Args:
        old: the one tree.
        new: the other one.
    """
    if type(old) is not type(new) or (isinstance(old, ast.expr) and (has_part(old, new) or has_part(new, old))):
        yield old, new
        return
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for name in old._fields:
        mine, theirs = getattr(old, name), getattr(new, name)
        if name in _BLOCKS and isinstance(mine, list):
            continue
        mine, theirs = (each if isinstance(each, list) else [each] for each in (mine, theirs))
        is_tree = all(isinstance(each, ast.AST) for each in (*mine, *theirs))
        if len(mine) != len(theirs) or (not is_tree and mine != theirs):
            yield old, new
            return
        pairs += zip(mine, theirs) if is_tree else ()
    for one, other in pairs:
        if ast.dump(one) != ast.dump(other):
            yield from parts_apart(one, other)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
