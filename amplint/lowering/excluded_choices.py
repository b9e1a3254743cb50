"""Choices that exclude each other: an option that equals one value equals no other."""

from __future__ import annotations

import libcst as cst

from amplint.model.event_graph import Both, Condition, Not, Test

_MAX_OTHERS = 6
"""So many earlier values of an option are held against the next one: those of a long dispatch are not worth the tests."""


class ExcludedChoices:
    """What one function has asked about its options so far: `mode == "norm"` and `mode == "value"` never hold together."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str | bytes | int, Test]] = {}

    def told(self, test: Test, subject: str, value: cst.BaseExpression) -> Condition:
        """The condition that a test is, beside the earlier ones that ask the same option for other values.

        Args:
            test: whether the option equals the value.
            subject: the key of the option.
            value: what it is compared with.
        """
        if test.kind != "config" or not isinstance(value, (cst.SimpleString, cst.Integer)):
            return test
        asked = self._asked.setdefault(subject, {})
        others = [other for each, other in asked.items() if each != value.evaluated_value][-_MAX_OTHERS:]
        asked.setdefault(value.evaluated_value, test)
        return Both((*map(Not, others), test)) if others else test
