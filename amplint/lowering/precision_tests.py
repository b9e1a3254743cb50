"""Tests of an option that decides the precision: on which side nothing is scaled."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.model import vocabulary
from amplint.model.event_graph import Condition, Not, Test
from amplint.syntax.access_paths import spelling
from amplint.syntax.words import words


def equals(key: str, refs: frozenset[str], option: cst.BaseExpression, value: cst.BaseExpression) -> Condition | None:
    """The question whether an option has a value; None where it says nothing of AMP.

    Args:
        key: the key of the question.
        refs: the references in it.
        option: what may be an option for the precision, or a dtype.
        value: the value.
    """
    return _among(key, refs, option, [value])


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
    return _among(key, refs, part, _displayed(whole))


def begins(key: str, refs: frozenset[str], call: cst.BaseExpression) -> Condition | None:
    """The question whether an option begins, or ends, with a word; None where it says nothing of AMP.

    Args:
        key: the key of the question.
        refs: the references in it.
        call: what may ask so.
    """
    option, part = spelling(call) or (None, None)
    if option is None or part is None:
        return None
    return _among(key, refs, option, [part] if isinstance(part, cst.SimpleString) else _displayed(part))


def _among(
    key: str, refs: frozenset[str], option: cst.BaseExpression, values: Sequence[cst.BaseExpression]
) -> Condition | None:
    if not any(map(_is_precision, (option, *(each for each in values if isinstance(each, cst.Attribute))))):
        return None
    said = {each for value in values for each in _said_by(value)}
    if said == {"scaled"}:
        return Test(key, refs, "mode")
    if said == {"full"}:
        return Not(Test(key, refs, "mode"))
    if "scaled" in said:
        return Not(Test(f"not {key}", refs, "unscaled"))
    return Test(key, refs, "unscaled") if said and "" not in said else None


def _displayed(values: cst.BaseExpression) -> list[cst.BaseExpression]:
    shown = values.elements if isinstance(values, (cst.Tuple, cst.List, cst.Set)) else ()
    return [each.value for each in shown]


def _is_precision(node: cst.BaseExpression) -> bool:
    """Whether an expression is an option, or a dtype, that decides the precision."""
    return any(vocabulary.AMP_FLAG.search(word) or vocabulary.PRECISION.search(word) for word in words(node))


def _said_by(value: cst.BaseExpression) -> tuple[str, ...]:
    """What an option may say with a value: that AMP scales, that it is on and nothing is scaled, or that all is in full."""
    text = value.attr.value if isinstance(value, cst.Attribute) else " ".join(words(value))
    if text == "fp":
        return "scaled", "full"
    others = vocabulary.UNSCALED_VALUE.sub("", text)
    if vocabulary.AMP_VALUE.search(others):
        return ("scaled" if others == text else "",)
    if others != text:
        return ("unscaled",)
    return ("full" if vocabulary.FULL_VALUE.search(text) else "",)
