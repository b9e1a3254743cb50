"""The texts and flags that constructors are given, and the answers to tests of texts: `if kind == "squared"`."""

from __future__ import annotations

import libcst as cst

from amplint.dtypes.values import Arguments, GivenFlag, GivenText, Value
from amplint.model.records import changed
from amplint.syntax.names import Names


def with_texts(arguments: Arguments, names: Names) -> Arguments:
    """The same arguments, with the texts and flags among them.

    Args:
        arguments: what a constructor is given.
        names: what the names of the file mean.
    """
    given = [_given(node, names) for node in arguments.nodes]
    named = {name: _given(node, names) for name, node in arguments.keyword_nodes.items()}
    if not any(each is not None for each in (*given, *named.values())):
        return arguments
    return changed(
        arguments,
        values=tuple(value if each is None else each for value, each in zip(arguments.values, given)),
        keywords=arguments.keywords | {name: each for name, each in named.items() if each is not None},
    )


def flag_of(node: cst.BaseExpression | None) -> GivenFlag | None:
    """The flag that is written out; None for any other expression."""
    written = node.value if type(node) is cst.Name else ""
    return GivenFlag(written == "True") if written in ("True", "False") else None


def _given(node: cst.BaseExpression | None, names: Names) -> Value | None:
    text = text_of(node, names)
    return flag_of(node) if text is None else GivenText(text)


def compared(text: str, comparison: cst.ComparisonTarget, names: Names) -> bool | None:
    """The answer to a comparison of a text with others; None where one of them is not known.

    Args:
        text: the text.
        comparison: what it is compared with, and how.
        names: what the names of the file mean.
    """
    shown = [comparison.comparator]
    if isinstance(comparison.operator, (cst.In, cst.NotIn)):
        if not isinstance(comparison.comparator, (cst.List, cst.Tuple, cst.Set)):
            return None
        shown = [each.value for each in comparison.comparator.elements]
    others = [text_of(each, names) for each in shown]
    if None in others:
        return None
    if isinstance(comparison.operator, (cst.Equal, cst.In)):
        return text in others
    return text not in others if isinstance(comparison.operator, (cst.NotEqual, cst.NotIn)) else None


def text_of(node: cst.BaseExpression | None, names: Names) -> str | None:
    """The text that an expression stands for: a literal, or one that a class of the file names, as in `Kind.SQUARED.value`.

    Args:
        node: the expression.
        names: what the names of the file mean.
    """
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    if not isinstance(node, cst.Attribute):
        return None
    member = node.value if node.attr.value == "value" and isinstance(node.value, cst.Attribute) else node
    if not isinstance(member, cst.Attribute) or not isinstance(member.value, cst.Name):
        return None
    bindings = names.bindings(member.value.value, member)
    owner = bindings[0].node if len(bindings) == 1 else None
    kept = names.bindings_in(owner).get(member.attr.value, []) if isinstance(owner, cst.ClassDef) else []
    made = kept[0].value if len(kept) == 1 else None
    return text_of(made, names) if isinstance(made, cst.SimpleString) else None
