"""Calls that read an option, or a value in another form: they answer alike as long as what they read is the same."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import called, called_name, path_of, spelling
from amplint.syntax.nodes import children


def asks_anything_else(node: cst.CSTNode) -> bool:
    """Whether anything is called in an expression that may answer otherwise the next time.

    Args:
        node: the expression.
    """
    if type(node) is cst.Call and not _only_reads(node):
        return True
    return any(asks_anything_else(child) for child in children(node))


def is_getattr(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    """Whether an attribute is asked for by its name, as in `getattr(args, "clip", 0)`.

    Args:
        node: any node.
    """
    match node:
        case cst.Call(func=cst.Name(value="getattr"), args=[_, cst.Arg(value=cst.SimpleString()), *_]):
            return True
    return False


def is_class_name(node: cst.Attribute) -> bool:
    """Whether it is the name of the class of an object (`x.__class__.__name__`, `type(x).__name__`), which stays as it is.

    Args:
        node: an attribute.
    """
    if node.attr.value == "__class__":
        return True
    match node.value:
        case cst.Call(func=cst.Name(value="type"), args=[_]) | cst.Attribute(attr=cst.Name(value="__class__")):
            return node.attr.value in ("__name__", "__qualname__")
    return False


def read_by(call: cst.Call) -> list[cst.BaseExpression] | None:
    """What a call reads that answers alike as long as this is the same; None for any other call.

    Args:
        call: the call.
    """
    match call:
        case (
            cst.Call(func=cst.Name(value="bool" | "int" | "float" | "str" | "type"), args=[cst.Arg(value=asked)])
            | cst.Call(
                func=cst.Name(value="cast") | cst.Attribute(attr=cst.Name(value="cast")), args=[_, cst.Arg(value=asked)]
            )
        ):
            return [asked]
        case cst.Call(func=cst.Attribute(value=asked, attr=cst.Name(value="lower" | "upper" | "strip")), args=[]):
            return [asked]
        case cst.Call(args=[cst.Arg(value=asked)]) if is_number_of_steppers(call):
            return [asked]
    return list(spelling(call) or ()) or ([call.args[0].value] if is_getattr(call) else None)


def is_number_of_steppers(node: cst.CSTNode) -> bool:
    """Whether it is asked how many optimizers or schedules there are: as many from first to last, whatever was skipped."""
    match node:
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=asked)]):
            name = called(path_of(asked))
            return vocabulary.OPTIMIZER.search(name) is not None or vocabulary.SCHEDULER.search(name) is not None
    return False


def _only_reads(call: cst.Call) -> bool:
    """Whether it is `getattr(args, "clip", 0)`, `cfg.get("clip")`, `int(x)`, `name.lower()` or one of their kind."""
    match call:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="get")), args=[cst.Arg(value=cst.SimpleString()), *_]):
            return True
    return called_name(call) == "signature" or read_by(call) is not None
