"""Options that a file declares, on the command line or as the fields of a class: what a user may choose for one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import libcst as cst

from amplint.syntax.access_paths import called_name
from amplint.syntax.tree import Tree
from amplint.syntax.words import string_value


class Unspelled(Exception):
    """An expression is worked out: no literal."""


def values(option: cst.Attribute, tree: Tree) -> Iterator[object]:
    """What an option may be: one of its choices, or what it is by default; nothing where its file does not say so.

    Args:
        option: the attribute of the parsed arguments, or of a configuration.
        tree: the file, with those that it leads to.
    """
    name = option.attr.value
    for call in tree.find(cst.Call, around=tree.root(option)):
        if called_name(call) == "add_argument" and name in _attributes(call):
            given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
            yield from _literals(given, tree)
    for field in tree.find(cst.AnnAssign, around=tree.root(option)):
        at_class_level = isinstance(tree.enclosing(field, cst.ClassDef, cst.FunctionDef), cst.ClassDef)
        if at_class_level and isinstance(field.target, cst.Name) and field.target.value == name:
            yield from _default_of(field, tree)


def _default_of(field: cst.AnnAssign, tree: Tree) -> Iterator[object]:
    """What a field is where nobody gives it a value, if a literal says so: `precision: str = "fp16"`."""
    value = field.value
    if isinstance(value, cst.Call) and called_name(value) == "field":
        value = next(
            (arg.value for arg in value.args if arg.keyword is not None and arg.keyword.value == "default"), None
        )
    try:
        yield from [spelled(value, tree)] if value is not None else ()
    except Unspelled:
        return


def _attributes(call: cst.Call) -> Iterator[str]:
    """The attributes that a declared option may be found under."""
    for arg in call.args:
        if arg.keyword is None and isinstance(arg.value, cst.SimpleString):
            yield str(string_value(arg.value)).lstrip("-").replace("-", "_")


def _literals(given: dict[str, cst.BaseExpression], tree: Tree) -> Iterator[object]:
    """The values that the declaration of an option spells out, by its keyword arguments."""
    try:
        if "action" in given:
            yield from (True, False) if str(spelled(given["action"], tree)).startswith("store_") else ()
            return
        if "default" in given:
            yield spelled(given["default"], tree)
        choices = spelled(given["choices"], tree) if "choices" in given else ()
        yield from choices if isinstance(choices, (list, tuple, set)) else ()
    except Unspelled:
        return


def spelled(node: cst.BaseExpression, tree: Tree) -> Any:
    """The value of a literal.

    Args:
        node: the expression.
        tree: the tree that it is in.

    Raises:
        Unspelled: it is an expression of another kind, or a set or a dict of what cannot be in one.
    """
    try:
        return ast.literal_eval(f"({tree.text(node)})")
    except (ValueError, SyntaxError, TypeError) as error:
        raise Unspelled from error
