"""Tests of an option that decides the precision: on which side nothing is scaled."""

from __future__ import annotations

import libcst as cst

from amplint.model import vocabulary
from amplint.model.event_graph import Condition, Not, Test
from amplint.syntax.words import words


def equals(key: str, refs: frozenset[str], option: cst.BaseExpression, value: cst.BaseExpression) -> Condition | None:
    """The question whether an option has a value; None where it says nothing of AMP.

    Args:
        key: the key of the question.
        refs: the references in it.
        option: what may be an option for the precision, or a dtype.
        value: the value.
    """
    match _said_by(value) if _is_precision(option) else "":
        case "scaled":
            return Test(key, refs, "mode")
        case "full":
            return Not(Test(key, refs, "mode"))
        case "unscaled":
            return Test(key, refs, "unscaled")
    return None


def contains(key: str, refs: frozenset[str], part: cst.BaseExpression, whole: cst.BaseExpression) -> Condition | None:
    """The question whether an option has one of some values, or has a word in it; None where it says nothing of AMP.

    Args:
        key: the key of the question.
        refs: the references in it.
        part: the option, or the word.
        whole: the display of the values, or the option.
    """
    if isinstance(part, cst.SimpleString):
        return equals(key, refs, whole, part)
    if not isinstance(whole, (cst.Tuple, cst.List, cst.Set)) or not _is_precision(part):
        return None
    said = {_said_by(each.value) for each in whole.elements}
    if said == {"scaled"}:
        return Test(key, refs, "mode")
    if "scaled" in said:
        return Not(Test(f"not {key}", refs, "unscaled"))
    return Test(key, refs, "unscaled") if said and "" not in said else None


def _is_precision(node: cst.BaseExpression) -> bool:
    """Whether an expression is an option, or a dtype, that decides the precision."""
    return any(vocabulary.AMP_FLAG.search(word) or vocabulary.PRECISION.search(word) for word in words(node))


def _said_by(value: cst.BaseExpression) -> str:
    """What an option says with a value: that AMP scales, that it is on and nothing is scaled, or that all is in full."""
    text = " ".join(words(value))
    others = vocabulary.UNSCALED_VALUE.sub("", text)
    if vocabulary.AMP_VALUE.search(others):
        return "scaled" if others == text else ""
    if others != text:
        return "unscaled"
    return "full" if vocabulary.FULL_VALUE.search(text) else ""
