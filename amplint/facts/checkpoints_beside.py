"""Two checkpoints of one function: whether one and the same run makes both, while it scales."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.tree import Tree

_ASKS_FOR_SCALING = re.compile(
    "|".join(words.pattern for words in (vocabulary.PRECISION_CHOICE, vocabulary.SCALER_ITSELF, vocabulary.DEVICE)),
    re.IGNORECASE,
)
"""What a test says by which runs, or iterations, that scale may be told from those that do not."""
_LEAVES = (cst.Return, cst.Raise, cst.Continue, cst.Break)
_LOOPS = (cst.For, cst.While)


def are_of_one_run(tree: Tree, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether the iteration that puts one checkpoint together may put the other one together, too, and always scales.

    Args:
        tree: the file.
        one: where the first checkpoint is put together.
        other: where the second one is.
    """
    first, second = sorted((one, other), key=tree.order)
    asked, asked_later = set(_tests(tree, first)), set(_tests(tree, second))
    return (
        tree.function(one) is tree.function(other)
        and not tree.exclude_each_other(one, other)
        and not any((test, not holds) in asked_later for test, holds in asked)
        and not any(_ASKS_FOR_SCALING.search(test) for test, _ in asked ^ asked_later)
        and not _leaves_between(tree, first, second)
        and not _is_tried_again(tree, first, second)
    )


def are_in_one_loop(tree: Tree, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether the other place is in a loop that the first one is in, if that is in any: else it comes when the loop is over.

    Args:
        tree: the file.
        one: the first place.
        other: the other one.
    """
    loops = [above for above in tree.ancestors(one) if isinstance(above, _LOOPS)]
    return not loops or not set(loops).isdisjoint(tree.ancestors(other))


def _tests(tree: Tree, node: cst.CSTNode) -> Iterator[tuple[str, bool]]:
    """The tests of the branches around a node, as they are written, and whether they hold where it is reached."""
    for branch, side in tree.sides(node):
        if isinstance(branch, cst.Match):
            yield tree.text(branch.subject), True
        elif isinstance(branch, (cst.If, cst.IfExp)):
            test, holds = branch.test, branch.body is side
            if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
                test, holds = test.expression, not holds
            yield tree.text(test), holds


def _leaves_between(tree: Tree, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether the block around a place may be left behind it, before a later place is reached."""
    common = set(tree.ancestors(second))
    apart = [above for above in (first, *tree.ancestors(first)) if above not in common]
    leaves = (node for kind in _LEAVES for node in tree.inside(apart[-1], kind))
    return any(tree.order(first) < tree.order(node) for node in leaves)


def _is_tried_again(tree: Tree, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Whether a later place is a handler's, for what a first one may raise."""
    around = set(tree.ancestors(first))
    handlers = (above for above in tree.ancestors(second) if isinstance(above, cst.ExceptHandler))
    return any(tree.parent(handler) in around and handler not in around for handler in handlers)
