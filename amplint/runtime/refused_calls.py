"""Calls that PyTorch refuses for what they are given, told from its signatures: an argument is missing, or is of no use there.

Only calls by the name of a function or a class of torch are looked at, of which Python knows the signature.
"""

from __future__ import annotations

import inspect
import operator
import typing
from collections import Counter
from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Any

import libcst as cst
import torch

from amplint.model.literals import number
from amplint.rule import File

_NUMBERS = (int, float, complex, bool)
_EVERYWHERE = ("missing", "multiple values")
"""What Python says of calls that every version of torch refuses."""


def newly_refused(before: File, after: File) -> list[str]:
    """What the calls of a file raise that did not do so in another text of it, each in one line.

    Args:
        before: the file as it stands.
        after: the file with a repair.
    """
    known = Counter(before.tree.text(call) for call in before.tree.find(cst.Call))
    changed = [call for call in after.tree.find(cst.Call) if not known[after.tree.text(call)]]
    if not changed:
        return []
    mine = Counter(error for call in before.tree.find(cst.Call) if (error := _refusal(before, call)))
    theirs = Counter(error for call in changed if (error := _refusal(after, call)))
    return sorted((theirs - mine).elements())


def _refusal(file: File, call: cst.Call) -> str:
    """Why torch refuses a call; empty where it does not, or nobody can tell."""
    names = file.names.resolve(call.func)
    name = next(iter(names)) if len(names) == 1 else ""
    if not name.startswith("torch.") or any(arg.star for arg in call.args):
        return ""
    signature = _signature(name)
    if signature is None:
        return ""
    values = [arg.value for arg in call.args if arg.keyword is None]
    keywords = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    try:
        given = signature.bind(*values, **keywords).arguments
    except TypeError as error:  # what is not known here may be known to another version of torch
        return f"TypeError: {name}() is {error}" if any(each in str(error) for each in _EVERYWHERE) else ""
    wrong = next(_wrongly_numbers(file, signature, given), "")
    return f"TypeError: {name}() takes no number as '{wrong}'" if wrong else ""


def _wrongly_numbers(file: File, signature: inspect.Signature, given: dict[str, Any]) -> Iterator[str]:
    """The parameters that are given a number and take none."""
    for name, value in given.items():
        is_number = isinstance(value, cst.CSTNode) and number(file.tree.text(value)) is not None
        if is_number and not _takes_numbers(signature.parameters[name].annotation):
            yield name


@cache
def _signature(name: str) -> inspect.Signature | None:
    try:
        return inspect.signature(operator.attrgetter(name.removeprefix("torch."))(torch))
    except (AttributeError, TypeError, ValueError):  # unknown, no function, or one of C
        return None


def _takes_numbers(annotation: object) -> bool:
    """Whether a parameter with this annotation may be given a number; of types that are not written out, it may."""
    kind = typing.get_origin(annotation) or annotation
    if kind in (typing.Union, UnionType):
        return any(map(_takes_numbers, typing.get_args(annotation)))
    if not isinstance(kind, type) or kind is inspect.Parameter.empty:
        return True
    return any(issubclass(each, kind) for each in _NUMBERS)
