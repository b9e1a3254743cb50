"""A local variable that a repair gives another name is no change, where the code as it stands means the same with that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_BLOCKS = ("body", "orelse", "finalbody")
_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef


def rename(old: ast.Module, gone: Sequence[ast.stmt | None], come: Sequence[ast.stmt | None]) -> bool:
    """Give local variables of the code as it stands the names that they have with the repair, in place.

    Args:
        old: the tree of the code as it stands.
        gone: the statements in it that are not in the repaired code.
        come: the statements of the repaired code that are not in it.

    Returns:
        Whether there were any.
    """
    names = {ast.dump(each.value): _assigned(each) for each in come if isinstance(each, ast.Assign) and _assigned(each)}
    wanted = [each for each in gone if isinstance(each, ast.Assign) and ast.dump(each.value) in names]
    done = False
    for function in (each for each in ast.walk(old) if wanted and isinstance(each, _FUNCTIONS)):
        for block in _blocks(function):
            for place, first in enumerate(block):
                if isinstance(first, ast.Assign) and first in wanted:
                    name, other = _assigned(first), names[ast.dump(first.value)]
                    done |= name not in ("", other) and _rename_in(function, block[place:], name, other)
    return done


def _assigned(statement: ast.stmt) -> str:
    """The one name that a statement assigns something to that does not depend on it."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) and not any(_named([statement.value], target.id)) else ""


def _rename_in(function: ast.AST, block: Sequence[ast.stmt], name: str, other: str) -> bool:
    """Rename what a block begins with assigning, unless another variable would be meant, or somebody else would miss it."""
    inside = [*_named(block, name)]
    elsewhere = {id(each) for each in _named([function], name)} - {id(each) for each in inside}
    for each in ast.walk(function):
        is_own = each is not function and isinstance(each, (*_FUNCTIONS, ast.Lambda))
        if _binds(each, other) or _binds(each, name, but=ast.Name) or (is_own and any(_named([each], name))):
            return False  # what is a function of its own looks names up when it is called
    if not elsewhere <= {id(each) for each in _given(function, name)}:
        return False
    for each in inside:
        each.id = other
    return True


def _given(function: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where a name stands for what it is given in the same block."""
    for block in _blocks(function):
        start = next((place for place, each in enumerate(block) if _assigned(each) == name), len(block))
        yield from _named(block[start:], name)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for each in ast.walk(node):
        yield from (block for field in _BLOCKS if isinstance(block := getattr(each, field, None), list))


def _named(nodes: Sequence[ast.AST], name: str) -> Iterator[ast.Name]:
    for node in nodes:
        yield from (each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name)


def _binds(node: ast.AST, name: str, but: type[ast.AST] = ast.keyword) -> bool:
    """Whether a node is a variable of this name, or makes one."""
    if isinstance(node, (but, ast.keyword)):
        return False
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    return name in (getattr(node, each, None) for each in ("id", "arg", "name", "asname"))
