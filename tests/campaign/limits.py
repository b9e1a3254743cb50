"""Where the static witness is known to be silent, or to guess, each with its reason: meant, and no disagreement.

A new one needs one function: `@limit` for hazards that only the runtime witness saw, `@guess` for those that only the static
one found. It says whether a hazard is one of its cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from .witnesses import Program, Run, Spot, runs

Limit = Callable[[Program, Spot, tuple[Run, ...]], bool]
LIMITS: list[Limit] = []
"""Of what the runtime witness saw alone."""
GUESSES: list[Limit] = []
"""Of what the static witness found alone."""

_BY_VALUE = re.compile(r"clamp_\(|clip_grad_value_\(")
UNRECORDED = {
    "gradient-penalty-unscaled": "the recorder files `torch.autograd.grad` as a value, and does not say what it is part of",
    "exit-between-unscale-and-update": "the recorder sees no statements: it tells this at `unscale_`, not where the iteration is left",
}
"""Kinds of hazard that the runtime witness cannot see, or not at the same line, with the reason: they are not compared."""

_OF_OTHER_THINGS = frozenset({"backward-in-autocast", "missing-update", "region-spans-steps", "scheduler-not-gated"})
"""The hazards that do not ask what gradients hold."""


def limit(made: Limit) -> Limit:
    """File a limit."""
    LIMITS.append(made)
    return made


def guess(made: Limit) -> Limit:
    """File a guess."""
    GUESSES.append(made)
    return made


def limit_of(limits: list[Limit], program: Program, spot: Spot, ran: tuple[Run, ...]) -> str:
    """The name of the limit that a hazard falls under; empty for none."""
    return next((each.__name__ for each in limits if each(program, spot, ran)), "")


@limit
def whose_gradients(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """Of several optimizers, the text does not say whose gradients a backward pass adds to: it may be all of them.

    So gradients to which two passes have added, of which one alone is wrong, are not judged.
    """
    return _is_ambiguous(program) and spot[0] not in _OF_OTHER_THINGS


@guess
def nearest_pass(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """For the same reason, which of several half losses a step takes is a guess: the nearest. One of them it does take."""
    seen = {kind for each in ran for kind, _ in each.hazards}
    return _is_ambiguous(program) and spot[0] == "fp16-without-scaler" and spot[0] in seen


@guess
def counting(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """Paths do not count: `step % 3 == 0` may hold in two iterations running. The same program, stepping so, shows it."""
    always = re.sub(r"% [23]\b", "% 1", program.text)
    in_pairs = re.sub(r"\(count \+ 1\) % [23]\b", "int((step + 1) % 4 < 2)", program.text)
    in_pairs = re.sub(r"% [23] == 0", "% 4 >= 2", re.sub(r"% [23] != 0", "% 4 < 2", in_pairs))
    others = [replace(program, text=text) for text in (always, in_pairs) if text != program.text]
    return any(spot in each.hazards for other in others for each in runs(other))


@guess
def condition_handed_over(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """A name for a condition on the iteration is another condition in a function that gets its value."""
    return re.search(r"\b(loss_scaler|do_\d)\(.*\bupdate_grad\b.*\)$", program.text, re.MULTILINE) is not None


@guess
def overflow_hidden_by_a_clip(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """A clip by value before `unscale_` has hidden every overflow of the run from the scaler, so that no step was skipped."""
    clipped = any(kind == "clip-before-unscale" for each in ran for kind, _ in each.hazards)
    return spot[0] == "scheduler-not-gated" and clipped and bool(_BY_VALUE.search(program.text))


def _is_ambiguous(program: Program) -> bool:
    passes = re.findall(r"^.*\.backward\(\)", program.text, re.MULTILINE)
    several = len(re.findall(r"= torch\.optim\.[A-Z]\w+\(", program.text)) > 1
    return several and len(set(map(str.strip, passes))) > 1


@limit
def handed_over(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """An object of the author's own class that a function gets as an argument is not followed into the function.

    What its methods do in one call is judged; what one call leaves to the next is not.
    """
    given = re.search(r"^def train_one_epoch\(.*\bloss_scaler\b", program.text, re.MULTILINE)
    return given is not None


@limit
def region_where_amp_is_off(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """Where the program takes AMP to be off, the regions are taken to be off too, though their text has no flag."""
    seeing = [each.setting for each in ran if spot in each.hazards]
    return spot[0] == "fp16-without-scaler" and all(("amp", False) in setting for setting in seeing)


@limit
def blind_gate(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """A comparison of two scales counts as the question whether the step was skipped, whichever update lies between them."""
    return spot[0] == "scheduler-not-gated" and "get_scale() >=" in enclosing(program.text, spot[1])


@limit
def hidden_by_a_clip(program: Program, spot: Spot, ran: tuple[Run, ...]) -> bool:
    """A test for finite gradients counts as one for overflow, also behind a clip by value, which has made infinity finite."""
    before = "\n".join(program.text.splitlines()[: spot[1] - 1])
    tested = "torch.isfinite(parameter.grad)" in enclosing(program.text, spot[1])
    return spot[0] == "step-bypasses-scaler" and tested and bool(_BY_VALUE.search(before))


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
