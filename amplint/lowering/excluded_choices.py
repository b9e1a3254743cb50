"""Choices that exclude each other: an option that equals one value equals no other, and is not left out."""

from __future__ import annotations

import libcst as cst

from amplint.model.event_graph import Test
from amplint.model.records import changed
from amplint.syntax.access_paths import path_of

_MAX_OTHERS = 30
"""So many earlier values of an option are held against the next one."""
_MAX_SHOWN = 6
"""Of so many choices that a tuple shows, each is asked for by itself."""

Choice = tuple[str, object]
"""The enumeration that a value is a member of, empty for a text or a number, and the value."""


class ExcludedChoices:
    """What one function has asked about its options so far: `mode == "norm"` and `mode == "value"` never hold together, nor do
    `mode == "norm"` and `not mode`."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[Choice, Test]] = {}
        self._given: dict[str, Test] = {}

    def asked_whether_given(self, test: Test) -> Test:
        """A test whether an option is given at all, which later ones for its values are held against.

        Args:
            test: the test, whose key is that of the option.
        """
        if test.kind == "config":
            self._given.setdefault(test.key, test)
        return test

    def told(self, test: Test, subject: str, value: cst.BaseExpression) -> Test:
        """A test with what it implies for the earlier ones that ask the same option for other values, or for any.

        Args:
            test: whether the option equals the value.
            subject: the key of the option.
            value: what it is compared with.
        """
        choice = _choice(value) if test.kind == "config" else None
        if choice is None:
            return test
        asked = self._asked.setdefault(subject, {})
        others = [other for each, other in asked.items() if each != choice and each[0] == choice[0]][-_MAX_OTHERS:]
        asked.setdefault(choice, test)
        given = [(self._given[subject], True)] if choice[1] and subject in self._given else []
        return changed(test, implies=(*given, *((other, False) for other in others)))


def is_choice(value: cst.BaseExpression) -> bool:
    """Whether an option is compared with a value that is one of several, a text or a member of an enumeration."""
    return isinstance(value, cst.SimpleString) or (isinstance(value, cst.Attribute) and value.attr.value.isupper())


def enumeration_of(value: cst.BaseExpression) -> str:
    """The enumeration that a value is written as a member of: `Clip` for `Clip.NORM`; empty for anything else."""
    enumeration = path_of(value.value) if isinstance(value, cst.Attribute) and value.attr.value.isupper() else ""
    return enumeration if enumeration.rpartition(".")[2][:1].isupper() else ""


def displayed_choices(values: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The choices that a tuple, a list or a set shows; empty for what holds anything else, or too many."""
    shown = [each.value for each in values.elements] if isinstance(values, (cst.Tuple, cst.List, cst.Set)) else []
    return shown if len(shown) <= _MAX_SHOWN and all(map(is_choice, shown)) else []


def matched_values(pattern: cst.MatchPattern) -> list[cst.BaseExpression]:
    """The values of which a pattern takes any; empty for one that takes others."""
    parts = [each.pattern for each in pattern.patterns] if isinstance(pattern, cst.MatchOr) else [pattern]
    values = [each.value for each in parts if isinstance(each, cst.MatchValue)]
    return values if len(values) == len(parts) else []


def _choice(value: cst.BaseExpression) -> Choice | None:
    """What tells a value from others; None for one that may equal any."""
    if isinstance(value, (cst.SimpleString, cst.Integer)):
        return "", value.evaluated_value
    return (enumeration_of(value), cst.ensure_type(value, cst.Attribute).attr.value) if enumeration_of(value) else None
