"""What may be said of a class that a registry gives back: which of the calls is meant for it, only a configuration tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.model.caller_contexts import CallerContext, Shape

_WIDE = frozenset({"float32", "float64"})


def alike(contexts: Sequence[CallerContext]) -> Sequence[CallerContext]:
    """The contexts of a class that a registry gives back, if they all enter it alike: under autocast, or all outside of it,
    and with arguments in one precision; else none, for it may be made for any one of them.

    Args:
        contexts: all ways in which calls of what the registry gives back may enter the class.
    """
    training = [each for each in contexts if each.differentiates]
    under = {each.region is not None and each.region.lowers for each in training}
    given: dict[str, set[bool]] = {}
    for each in training:
        for name, shape in each.arguments:
            given.setdefault(name, set()).update(dtype in _WIDE for dtype in _dtypes(shape))
    return contexts if len(under) < 2 and all(len(each) < 2 for each in given.values()) else ()


def _dtypes(shape: Shape) -> Iterator[str]:
    """The dtypes of a value that are known, of tensors in tuples and dictionaries, too."""
    match shape:
        case ("tensor", str(dtype), *_):
            yield dtype
        case ("items", *items):
            for item in items:
                yield from _dtypes(item)
        case ("record", fields, _):
            for _, each in fields:
                yield from _dtypes(each)
