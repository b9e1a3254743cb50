"""Functions that need not be followed for their own sake: nothing that is looked for is in them, or comes to them by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.file import File
from amplint.syntax.tree import Tree

_HALF = re.compile("[Hh]alf|float16|fp16|bf16|FP16|BF16|utocast")
"""How values are brought to half where no region does."""


def idle_functions(tree: Tree, sought: Iterable[cst.CSTNode]) -> list[cst.FunctionDef]:
    """The functions of a file in whose statement at its top none of some nodes is, and none that it leads to by name.

    Args:
        tree: the file.
        sought: the nodes.
    """
    waiting = {_top(tree, node) for node in sought}
    if not waiting:
        return tree.find(cst.FunctionDef)
    unsettled: dict[cst.CSTNode, frozenset[str]] = {each: tree.words(each) for each in tree.module.body}
    while waiting:
        names = frozenset().union(*(_names(statement, unsettled.pop(statement)) for statement in waiting))
        waiting = {statement for statement, said in unsettled.items() if not names.isdisjoint(said)}
    return [each for each in tree.find(cst.FunctionDef) if _top(tree, each) in unsettled]


def lowering(file: File) -> Iterator[cst.CSTNode]:
    """The nodes that may bring values to half, whoever calls."""
    tree, contexts = file.tree, file.contexts
    yield from (each for each in tree.find(cst.WithItem) if contexts.of(each.item) is not None)
    yield from (each for each in tree.find(cst.FunctionDef) if any(contexts.decorating(each)))
    yield from (each for each in tree.find(cst.Name) if _HALF.search(each.value))
    yield from (each for each in tree.find(cst.SimpleString) if _HALF.search(each.value))


def _top(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The statement at the top of the file that holds a node."""
    while (above := tree.parent(node)) is not None and above is not tree.module:
        node = above
    return node


def _names(statement: cst.CSTNode, said: frozenset[str]) -> frozenset[str]:
    """What a statement at the top of a file may be named by: a definition by its name, of others by all that they say."""
    return frozenset({statement.name.value}) if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else said
