"""Which conditions hold in bfloat16 alone: what is done under one of them is done for bfloat16."""

from __future__ import annotations

import re

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import spelling
from amplint.syntax.names import Names
from amplint.syntax.words import words

_BF16 = re.compile(r"(^|[^a-z])(bf16|bfloat16)([^a-z]|$)|^bf(loat)?$", re.IGNORECASE)
_MAX_NAMES = 3
"""From a name to its value, and to the names in that, so many times."""


class Bf16Conditions:
    """Reads conditions of one file.

    Args:
        names: what its names mean.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def asks(self, test: cst.BaseExpression, truth: bool = True) -> bool:
        """Whether a condition has the given truth in bfloat16 alone, as far as it says so in words.

        Args:
            test: the condition.
            truth: what it evaluates to.
        """
        return self._asks(test, truth, _MAX_NAMES)

    def _asks(self, test: cst.BaseExpression, truth: bool, depth: int) -> bool:
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self._asks(test.expression, not truth, depth)
        if isinstance(test, cst.BooleanOperation):
            sides = [self._asks(side, truth, depth) for side in (test.left, test.right)]
            # Of what must hold together one part decides; of what may hold in turns, all have to.
            return any(sides) if isinstance(test.operator, cst.And) is truth else all(sides)
        if isinstance(test, cst.Comparison):
            return self._compares(test, truth)
        if isinstance(test, cst.Name) and depth:
            values = [binding.value for binding in self._names.bindings(test.value, test)]
            logical = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)
            value = values[0] if len(values) == 1 else None
            if value is not None and (isinstance(value, logical) or spelling(value) is not None):
                told = self._asks(value, truth, depth - 1)
                if told or spelling(value) is not None:
                    return told  # else the name itself may say it: `use_bf16 = capability >= 8`
        if not truth:
            return False
        asked = spelling(test)
        if asked is not None:
            return _is_option(asked[0]) and _is_bf16(asked[1])
        return vocabulary.UNSCALED_FLAG.search(_last_word(test)) is not None

    def _compares(self, test: cst.Comparison, truth: bool) -> bool:
        if len(test.comparisons) != 1:
            return False
        operator, value = test.comparisons[0].operator, test.comparisons[0].comparator
        if isinstance(operator, cst.In):
            some = value.elements if isinstance(value, (cst.Tuple, cst.List, cst.Set)) else ()
            if isinstance(test.left, cst.SimpleString):
                return truth and _is_option(value) and _is_bf16(test.left)
            return truth and bool(some) and all(_is_bf16(each.value) for each in some)
        equal = (cst.Equal, cst.Is) if truth else (cst.NotEqual, cst.IsNot)
        return isinstance(operator, equal) and (_is_bf16(value) or _is_bf16(test.left))


def _is_bf16(value: cst.BaseExpression) -> bool:
    """Whether an expression is `torch.bfloat16`, or a string that says bfloat16."""
    if isinstance(value, cst.SimpleString):
        return any(map(_BF16.search, words(value)))
    return isinstance(value, (cst.Name, cst.Attribute)) and _last_word(value) == "bfloat16"


def _is_option(text: cst.BaseExpression) -> bool:
    """Whether a text that is asked for its letters is the name of a precision."""
    return any(map(vocabulary.PRECISION.search, words(text)))


def _last_word(node: cst.BaseExpression) -> str:
    """The last name of a flag: `bf16` of `args.bf16` and of `config["bf16"]`."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        return node.value if isinstance(node, cst.Name) else node.attr.value
    return next(reversed([*words(node)]), "") if isinstance(node, cst.Subscript) else ""
