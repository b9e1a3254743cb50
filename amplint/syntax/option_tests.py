"""Places that the value of one option keeps apart: what runs in one of them never meets what was made in the other."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import Tree


def excluded(tree: Tree, one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two places are under tests of one option for different texts: `if self.kind == "hinge"`.

    Args:
        tree: the file of both; a place of another file excludes nothing.
        one: a place.
        other: another one.
    """
    asked = dict(_asked(tree, one))
    return any(asked.get(path, texts).isdisjoint(texts) for path, texts in _asked(tree, other))


def _asked(tree: Tree, node: cst.CSTNode) -> Iterator[tuple[str, frozenset[str]]]:
    """The attributes of the object whose value a place depends on, each with the texts that it may be there."""
    inside = node
    for above in tree.ancestors(node):
        if type(above) is cst.If and above.body is inside:
            told = _texts(above.test)
            if told is not None:
                yield told
        inside = above


def _texts(test: cst.BaseExpression) -> tuple[str, frozenset[str]] | None:
    match test:
        case cst.BooleanOperation(left=left, operator=cst.Or(), right=right):
            one, other = _texts(left), _texts(right)
            return (one[0], one[1] | other[1]) if one is not None and other is not None and one[0] == other[0] else None
        case cst.Comparison(
            left=cst.Attribute(value=cst.Name("self")) as option,
            comparisons=[cst.ComparisonTarget(cst.Equal(), cst.SimpleString(value=text))],
        ):
            return path_of(option), frozenset({text.strip("'\"")})
        case cst.Comparison(
            left=cst.Attribute(value=cst.Name("self")) as option,
            comparisons=[cst.ComparisonTarget(cst.In(), cst.List() | cst.Tuple() | cst.Set() as listed)],
        ):
            shown = [each.value for each in listed.elements]
            texts = [each.value.strip("'\"") for each in shown if isinstance(each, cst.SimpleString)]
            return (path_of(option), frozenset(texts)) if len(texts) == len(shown) else None
    return None
