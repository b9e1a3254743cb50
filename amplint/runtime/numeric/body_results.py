"""What a body comes to: what is differentiated, returned, yielded or assigned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amplint.runtime.numeric.expression import Container, Expression, Literal, unlisted

BACKWARD, RETURN, YIELD = "backward", "return", "yield"


@dataclass(frozen=True)
class BodyResult:
    """What a body comes to: what is differentiated, returned, yielded or assigned (`kind` is then the target's source)."""

    kind: str
    occurrence: int
    value: Expression
    is_scaled: bool = False


def computable(value: Expression) -> Expression:
    """A value without those items of it that nothing can be computed from, if there are others."""
    if not isinstance(value, Container):
        return value
    items = tuple(map(computable, value.items))
    foreign = [unlisted([item]) for item in items]
    if items and all(foreign):
        return foreign[0] or value
    return replace(value, items=tuple(Literal(None) if none else item for item, none in zip(items, foreign)))


def matching(results: Sequence[BodyResult], wanted: BodyResult) -> BodyResult | None:
    """The counterpart of a result among those of the text with the fix.

    Args:
        results: what comes of the body with the fix.
        wanted: the result before it.
    """
    return next((each for each in results if (each.kind, each.occurrence) == (wanted.kind, wanted.occurrence)), None)
