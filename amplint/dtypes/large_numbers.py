"""Where large numbers come from: the functions to which none of them can come need not be followed for their sake."""

from __future__ import annotations

import libcst as cst

from amplint.syntax.tree import Tree
from amplint.syntax.words import words

_LARGE = 500
"""Products of two smaller numbers are no large ones."""
_MAKERS = (cst.Power, cst.LeftShift)


def functions_without_large(tree: Tree) -> list[cst.FunctionDef]:
    """The functions of a file that hold no large number, and name nothing at its top that does, or that names such."""
    unsettled: dict[cst.CSTNode, frozenset[str]] = {
        statement: frozenset(words(statement)) for statement in tree.module.body
    }
    holding = {_top(tree, node) for node in _numbers(tree)}
    while holding:
        names = frozenset().union(*(_names(statement, unsettled.pop(statement)) for statement in holding))
        holding = {statement for statement, said in unsettled.items() if not names.isdisjoint(said)}
    return [each for each in tree.find(cst.FunctionDef) if _top(tree, each) in unsettled]


def _numbers(tree: Tree) -> list[cst.CSTNode]:
    """The nodes that may be large numbers."""
    found: list[cst.CSTNode] = [each for each in tree.find(cst.Integer) if each.evaluated_value >= _LARGE]
    found += [each for each in tree.find(cst.Float) if each.evaluated_value >= _LARGE]
    found += [each for each in tree.find(cst.BinaryOperation) if isinstance(each.operator, _MAKERS)]
    return found + [each for each in tree.find(cst.Attribute) if each.attr.value == "finfo"]


def _top(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The statement at the top of the file that holds a node."""
    while (above := tree.parent(node)) is not None and above is not tree.module:
        node = above
    return node


def _names(statement: cst.CSTNode, said: frozenset[str]) -> frozenset[str]:
    """What a statement at the top of a file may be named by: a definition by its name, of others by all that they say."""
    return frozenset({statement.name.value}) if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else said
