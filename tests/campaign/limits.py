"""What the static witness is known not to see, each with its reason: silence that is meant, not a disagreement.

A new limit needs one function with `@limit`: whether a hazard that only the runtime witness saw is one of its cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .witnesses import Program, Run, Spot

Limit = Callable[[Program, Spot, tuple[Run, ...]], bool]
LIMITS: list[Limit] = []

_OF_GRADIENTS = frozenset(
    {
        "clip-before-unscale",
        "fp16-without-scaler",
        "grad-read-before-unscale",
        "step-bypasses-scaler",
        "unscaled-backward",
    }
)


def limit(made: Limit) -> Limit:
    """File a limit."""
    LIMITS.append(made)
    return made


def limit_of(program: Program, spot: Spot, ran: tuple[Run, ...]) -> str:
    """The name of the limit that a hazard falls under; empty for none."""
    return next((each.__name__ for each in LIMITS if each(program, spot, ran)), "")


@limit
def whose_gradients(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """Of several optimizers, the text does not say whose gradients a backward pass adds to: it may be all of them.

    So gradients to which two passes have added, of which one alone is wrong, are not judged.
    """
    passes = re.findall(r"^.*\.backward\(\)", program.text, re.MULTILINE)
    several = len(re.findall(r"= torch\.optim\.[A-Z]\w+\(", program.text)) > 1
    return several and len(set(map(str.strip, passes))) > 1 and spot[0] in _OF_GRADIENTS


@limit
def region_where_amp_is_off(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """Where the program takes AMP to be off, the regions are taken to be off too, though their text has no flag."""
    seeing = [each.setting for each in ran if spot in each.hazards]
    return spot[0] == "fp16-without-scaler" and all(("amp", False) in setting for setting in seeing)


@limit
def blind_gate(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """A comparison of two scales counts as the question whether the step was skipped, whichever update lies between them."""
    return spot[0] == "scheduler-not-gated" and "get_scale() >=" in enclosing(program.text, spot[1])


def enclosing(text: str, row: int) -> str:
    """The heads of the blocks around a line, joined."""
    lines = text.splitlines()
    indent, heads = _indent(lines[row - 1]), []
    for line in reversed(lines[: row - 1]):
        if line.strip() and _indent(line) < indent:
            indent = _indent(line)
            heads.append(line.strip())
    return "\n".join(heads)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
