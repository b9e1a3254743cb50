"""Comparisons of the loss scale after a step with that before it, which tell whether the step was skipped."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from amplint.model import vocabulary
from amplint.model.event_graph import Condition, Not, Test, tests_in
from amplint.model.records import changed
from amplint.model.references import key_of
from amplint.syntax.words import words

_TELLING = ("gate", "skipped")
_ORDERS = (cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual)


def fell(
    left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression, scale_names: Collection[str]
) -> bool | None:
    """Whether `scaler.get_scale() < before`, or a variant of it, is true where the last step was skipped, or where it was not.

    Args:
        left: the left side of the comparison.
        operator: its operator.
        right: its right side.
        scale_names: the names that hold a scale.

    Returns:
        None for another comparison, and for one that tells nothing of the step.
    """
    if not isinstance(operator, _ORDERS):
        return None
    before_left, before_right = _is_before(left, right, scale_names), _is_before(right, left, scale_names)
    if before_left == before_right:
        return None
    less = isinstance(operator, (cst.LessThan, cst.LessThanEqual))
    # `after < before` and `before > after` mean skipped; `after >= before` and `before <= after` mean stepped.
    if isinstance(operator, (cst.LessThan, cst.GreaterThan)):
        return True if less == before_right else None
    return False if less == before_left else None


def with_guards(parts: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The parts of `before is None or after >= before`: whether there is a scale to compare with belongs to the comparison.

    Args:
        parts: what `and` or `or` puts together.
    """
    telling = {ref for part in parts for test in tests_in(part) if test.kind in _TELLING for ref in test.refs}
    return tuple(_guarding(part, set(map(key_of, telling))) for part in parts) if telling else parts


def _guarding(part: Condition, keys: Collection[str]) -> Condition:
    match part:
        case Not():
            return Not(_guarding(part.part, keys))
        case Test(key=key, kind=kind) if key in keys and kind in ("varying", "config"):
            return changed(part, kind="gate")
    return part


def _is_before(node: cst.BaseExpression, other: cst.BaseExpression, scale_names: Collection[str]) -> bool:
    """Whether `node` is a scale kept from before the step, and `other` the scale after it."""
    kept = isinstance(node, cst.Name) and node.value in scale_names
    if "get_scale" in set(words(other)):
        return kept or (isinstance(node, (cst.Name, cst.Attribute)) and "scale" in " ".join(words(node)).lower())
    both = kept and isinstance(other, cst.Name) and other.value in scale_names
    return both and isinstance(node, cst.Name) and vocabulary.BEFORE.search(node.value) is not None
