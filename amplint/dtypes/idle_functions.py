"""Functions that need not be followed for their own sake: nothing that is looked for is in them, or comes to them by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.file import File
from amplint.model.events import Region
from amplint.model.torch import precision
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
    """The nodes that may bring values to half, whoever calls.

    Not a region that is known to be off, nor the name of a function of the file, whose own text says what it does.
    """
    tree, contexts = file.tree, file.contexts
    entered: list[tuple[cst.CSTNode, Region | None]] = [
        (item, contexts.of(item.item)) for item in tree.find(cst.WithItem)
    ]
    for function in tree.find(cst.FunctionDef):
        regions = contexts.decorating(function)
        entered += [(each, contexts.of(each.decorator)) for each in function.decorators if regions]
        if any(region.lowers for region in regions):
            yield function
    yield from (node for node, region in entered if region is not None and region.lowers)
    off = {node for node, region in entered if region is not None and not region.lowers}
    defined = {function.name.value for function in tree.find(cst.FunctionDef)}.difference(precision.CASTS)
    words: list[cst.Name | cst.SimpleString] = [*tree.find(cst.Name), *tree.find(cst.SimpleString)]
    telling = {word for word in {said.value for said in words} - defined if _HALF.search(word)}
    for said in words if telling else ():
        if said.value in telling and off.isdisjoint(tree.ancestors(said)) and not _only_tells(tree, said):
            yield said


def _only_tells(tree: Tree, said: cst.CSTNode) -> bool:
    """Whether a word stands in a docstring, or in an import that gives nothing another name, which says it again in use."""
    alias = tree.enclosing(said, cst.ImportAlias)
    if isinstance(alias, cst.ImportAlias):
        return alias.asname is None
    return isinstance(tree.parent(said), cst.Expr) or tree.enclosing(said, cst.ImportFrom) is not None


def _top(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The statement at the top of the file that holds a node."""
    while (above := tree.parent(node)) is not None and above is not tree.module:
        node = above
    return node


def _names(statement: cst.CSTNode, said: frozenset[str]) -> frozenset[str]:
    """What a statement at the top of a file may be named by: a definition by its name, of others by all that they say."""
    return frozenset({statement.name.value}) if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else said
