"""Where the static witness is known to be silent, or to guess, each with its reason: meant, and no disagreement.

A new one needs one function: `@limit` for hazards that only the runtime witness saw, `@guess` for those that only the static
one found. It says whether a hazard is one of its cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from .program import Program
from .static_witness import Spot
from .witnesses import Run, runs


@dataclass(frozen=True)
class Case:
    """A hazard that one witness alone told: of which program, what was seen in its runs, and which lines it is made of."""

    program: Program
    spot: Spot
    runs: tuple[Run, ...]
    lines: frozenset[int] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of hazard."""
        return self.spot[0]

    @property
    def around(self) -> str:
        """The heads of the blocks around it."""
        return enclosing(self.program.text, self.spot[1])


Limit = Callable[[Case], bool]
LIMITS: list[Limit] = []
"""Of what the runtime witness saw alone."""
GUESSES: list[Limit] = []
"""Of what the static witness found alone."""

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


def limit_of(limits: list[Limit], case: Case) -> str:
    """The name of the limit that a hazard falls under; empty for none."""
    return next((each.__name__ for each in limits if each(case)), "")


@limit
def whose_gradients(case: Case) -> bool:
    """Of several optimizers, the text does not say whose gradients a backward pass adds to: it may be all of them.

    So gradients to which two passes have added, of which one alone is wrong, are not judged.
    """
    return _is_ambiguous(case.program) and case.kind not in _OF_OTHER_THINGS


@guess
def nearest_pass(case: Case) -> bool:
    """For the same reason, which of several half losses a step takes is a guess: the nearest. One of them it does take."""
    seen = {kind for each in case.runs for kind, _ in each.hazards}
    return _is_ambiguous(case.program) and case.kind == "fp16-without-scaler" and case.kind in seen


@guess
def counting(case: Case) -> bool:
    """Paths do not count: `step % 3 == 0` may hold in two iterations running. The same program, stepping so, shows it."""
    always = re.sub(r"% ([23]|accumulate)\b", "% 1", case.program.text)
    in_pairs = re.sub(r"\(count \+ 1\) % [23]\b", "int((step + 1) % 4 < 2)", case.program.text)
    in_pairs = re.sub(r"% ([23]|accumulate) != 0", "% 4 < 2", in_pairs)
    in_pairs = re.sub(r"% ([23]|accumulate) == 0", "% 4 >= 2", in_pairs)
    others = [replace(case.program, text=text) for text in (always, in_pairs) if text != case.program.text]
    return any(case.spot in each.hazards for other in others for each in runs(other))


@guess
def never_skipped(case: Case) -> bool:
    """No run has skipped that step: a clip by value, or an exit for a loss that is not finite, kept overflows from the scaler."""
    return case.kind == "scheduler-not-gated" and not any(case.lines & each.skipped for each in case.runs)


@guess
def several_steps(case: Case) -> bool:
    """At run time, a scheduler that moves once for several steps of the scaler is one that does not move in step with it."""
    steps = re.findall(r"(?:scaler\w*)\.step\((\w+)", case.program.text)
    return case.kind == "scheduler-not-gated" and len(set(steps)) < len(steps)


@guess
def growth_hides_a_skip(case: Case) -> bool:
    """A gate that compares with a scale from before several updates is none: growth in one hides the skip in another.

    Scales grow after 2,000 steps, which no run takes.
    """
    return case.kind == "scheduler-not-gated" and "get_scale() >=" in case.around


@guess
def whose_schedule(case: Case) -> bool:
    """Of a scheduler that is handed over, a function alone does not say whose it is: of the optimizer that was stepped last.

    Where another one steps there past the scaler, it may be of that one.
    """
    owner = re.search(r"= torch\.optim\.lr_scheduler\.\w+\((?:self\.)?(\w+)", case.program.text)
    given = re.search(r"^def train_one_epoch\(.*\bscheduler\b", case.program.text, re.MULTILINE)
    steps = re.findall(r"scaler\w*\.step\((\w+)", case.program.text)
    return case.kind == "scheduler-not-gated" and given is not None and owner is not None and owner[1] not in steps


@guess
def another_pass(case: Case) -> bool:
    """For the same reason, a scaled pass of one model seems to add to the gradients of all, also of one that has stepped."""
    kinds = ("clip-before-unscale", "clip-raises-on-overflow", "grad-read-before-unscale", "step-bypasses-scaler")
    return _is_ambiguous(case.program) and case.kind in kinds


def _is_ambiguous(program: Program) -> bool:
    passes = re.findall(r"^.*\.backward\(\)", program.text, re.MULTILINE)
    several = len(re.findall(r"= torch\.optim\.[A-Z]\w+\(", program.text)) > 1
    return several and len(set(map(str.strip, passes))) > 1


@limit
def handler_that_goes_on(case: Case) -> bool:
    """A handler that goes on to the end of the iteration is not taken for an exit: it has no statement that leaves."""
    bodies = re.findall(r"^( +)except .*:\n((?:\1 +.*\n)*)", case.program.text, re.MULTILINE)
    goes_on = any(re.search(r"continue|return|break|raise", body) is None for _, body in bodies)
    return case.kind == "exit-between-unscale-and-update" and goes_on


@limit
def never_stepped(case: Case) -> bool:
    """Where the step is missing altogether, a run looks like one that has left the iteration before it."""
    after = "\n".join(case.program.text.splitlines()[case.spot[1] :])
    leaves = re.search(r"^ +(continue|return|break)$", after, re.MULTILINE)
    return case.kind == "exit-between-unscale-and-update" and leaves is None


@limit
def bad_batch(case: Case) -> bool:
    """A run does not tell an iteration that was left for a bad batch from one of an accumulation."""
    after = "\n".join(case.program.text.splitlines()[case.spot[1] :])
    leaves = re.search(r"^ +if not torch\.isfinite\(.*:\n(.*\n)? +continue", after, re.MULTILINE)
    return case.kind == "unscale-in-accumulation" and leaves is not None


@limit
def region_where_amp_is_off(case: Case) -> bool:
    """Where the program takes AMP to be off, the regions are taken to be off too, though their text has no flag."""
    seeing = [each.setting for each in case.runs if case.spot in each.hazards]
    return case.kind == "fp16-without-scaler" and all(("amp", False) in setting for setting in seeing)


@limit
def scaler_of_other_settings(case: Case) -> bool:
    """A program with a scaler is one with a scaler, also where options keep it from scaling anything."""
    return case.kind == "fp16-without-scaler" and "scaler.scale(" in case.program.text


@limit
def idle_scaler_by_a_flag(case: Case) -> bool:
    """A flag enables a scaler and a region: that both are on while nothing is scaled, only a run shows."""
    text = case.program.text
    idle = re.search(r"GradScaler\([^)]*enabled=", text) is not None and "scaler.scale(" not in text
    return case.kind == "fp16-without-scaler" and idle


@limit
def blind_gate(case: Case) -> bool:
    """A comparison of two scales counts as the question whether the step was skipped, whichever update lies between them."""
    return case.kind == "scheduler-not-gated" and "get_scale() >=" in case.around


@limit
def behind_a_finiteness_test(case: Case) -> bool:
    """A test for finite gradients, or for finite losses behind `unscale_`, settles all that follows.

    So it does on both of its sides, and behind a clip that hides infinity, too.
    """
    before = "\n".join(case.program.text.splitlines()[: case.spot[1] - 1])
    asked = re.search(r"isfinite\(parameter\.grad\)|unscale_\([^#]*isfinite\(", before) is not None
    return case.kind == "step-bypasses-scaler" and asked


@limit
def asked_something(case: Case) -> bool:
    """A condition around the scheduler that is no plain count of iterations may have asked about the step."""
    steps = [row for row, line in enumerate(case.program.text.splitlines(), 1) if re.search(r"scaler\w*\.step\(", line)]
    later = case.spot[1] < max(steps, default=0)
    asked = case.program.text if later else case.around
    return case.kind == "scheduler-not-gated" and re.search(r"step \+ 1|update_grad|count ==", asked) is not None


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
