"""Whether a fix takes away what half precision does to an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from textwrap import shorten

import torch

from amplint.diagnostics import Applicability, Diagnostic
from amplint.model import observables
from amplint.rule import File
from amplint.runtime.devices import CPU
from amplint.runtime.measures.measurement import NONE
from amplint.runtime.numeric.answer import Question, Side, answer
from amplint.runtime.numeric.compute import CompiledExpression, Way
from amplint.runtime.numeric.expression import Apply, Operand
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.finding import Pair, above, aside, pairs
from amplint.runtime.numeric.sweep import FREE, ORDINARY, Layout, Sweep, bounds, kinds, layouts
from amplint.runtime.numeric.tally import Tally, tally
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, REFUTED, Axis, Outcome

_WORST = "worst relative error"
_GPUS = frozenset({"cuda", "xpu", "mtia", "maia"})
"""Device types with CUDA's autocast table."""
_SCALE = 65536.0
"""The factor of the loss with which a `GradScaler` starts."""
_ROUNDING = 2.0**-12
"""Half of the largest relative error of one rounding to float16: what two values that differ by less have in common."""


def prove(before: File, after: File, diagnostic: Diagnostic, measure: str, device: str, seed: int) -> Outcome:
    """Compute what comes of a finding, as the code stands and with the fix, over a sweep of operands.

    A point counts where the text as it stands, computed in float64 on the same operands, gives a value that float32 holds
    and gradients that the dtypes of their operands hold. It is beyond float32 where the fixed text, computed in float32
    without AMP, does not. A fix is confirmed if some points that are not beyond float32 are non-finite before it and none
    of them after it, and no point at all is non-finite after it only. Left out are points at which the operands of the
    finding's own operation overflow before it, which is another defect's. An unsafe fix may leave gradients infinite where
    the fixed text keeps a value in half whose exact gradient half cannot hold: how often is said.

    Args:
        before: the text as it stands.
        after: the text with the fix.
        diagnostic: the finding.
        measure: `NON_FINITE` or `VALUE_ERROR`; with the latter, a fix that makes no point finite that was not is confirmed if
            it makes the worst error of the value, which was more than float16 rounds by, at least eight times smaller.
        device: one of `amplint.runtime.devices`; where CUDA is emulated, so it must be when this is called.
        seed: of the operands.
    """
    problem = ""
    is_partial = diagnostic.fix is not None and diagnostic.fix.applicability is Applicability.UNSAFE
    try:
        for pair in pairs(DtypeTrace(before), DtypeTrace(after), diagnostic):
            try:
                outcome = _judged(pair, measure, device, seed, is_partial)
                # Of two findings in one expression, the other one may be what is left.
                return replace(outcome, others=(diagnostic.name,)) if outcome.verdict == REFUTED else outcome
            except NotReplayable as error:  # what is nearer to the finding may still be computed
                problem = problem or str(error)
    except NotReplayable as error:
        problem = problem or str(error)
    return Outcome(NOT_REPLAYABLE, problem, measure)


def _judged(pair: Pair, measure: str, device: str, seed: int, is_partial: bool) -> Outcome:
    before, after = _aligned(CompiledExpression(pair.before), CompiledExpression(pair.after))
    meant = _devices(before.program)
    foreign = sorted(meant - ({"cpu"} if device == CPU else _GPUS | {"cpu"}))
    if foreign:
        return Outcome(NOT_OBSERVABLE, f"the code is for {foreign[0]!r}", observables.NON_FINITE)
    device = CPU if meant == {"cpu"} else device
    steps = before.program.steps
    known = kinds(steps, before.operands, above(pair.marks[0]))
    if FREE not in known.values():
        raise NotReplayable("no operand whose magnitude decides is found")
    limits = bounds(steps, before.operands)
    sweep = Sweep(known, limits, _layout(before, known, limits, seed), seed)
    points = list(sweep.points())
    wanted = [known[owner] in (FREE, ORDINARY) and not owner.detached for owner in before.operands]
    outcome = Outcome(NOT_REPLAYABLE, "nothing was computed", observables.NON_FINITE)
    for scale, out, given in _trials(pair):
        found = tally(before, after, Question(before.operands, wanted, scale), points, device, pair.marks[1], out)
        trial = _outcome(found, sweep.layout, given, is_partial)
        if trial.verdict == CONFIRMED or found.spoiled:
            return trial
        outcome = trial if scale == 1.0 else outcome
        if not (given or found.before or found.after) and measure == observables.VALUE_ERROR:
            return _by_digits(found, trial)
    return outcome


def _by_digits(found: Tally, outcome: Outcome) -> Outcome:
    """The outcome of a fix that makes a finite value more exact."""
    before, after = found.digits
    if not (found.points and before > _ROUNDING and before >= 8 * after):
        return outcome
    given = {key: value for key, value in outcome.reference.items() if key in ("points", "shape")}
    mine, fixed = ({observables.VALUE_ERROR: digits} for digits in (before, after))
    return Outcome(CONFIRMED, "", observables.VALUE_ERROR, mine, fixed, given)


_Trial = tuple[float, tuple[frozenset[int], frozenset[int]], dict[str, "float | str"]]


def _trials(pair: Pair) -> Iterator[_Trial]:
    """Everything together; then without what has no part in the finding, which may have defects of its own. Where the defect
    is an overflow of gradients, it may show with a scaled loss only."""
    apart = aside(pair.before, pair.marks[0]), aside(pair.after, pair.marks[1])
    for scale in (1.0, _SCALE):
        scaled: dict[str, float | str] = {"loss scale": scale} if scale != 1.0 else {}
        yield scale, (frozenset(), frozenset()), scaled
        if any(apart) and all(pair.marks):
            yield scale, apart, scaled | {"other terms": "held fixed"}


def _devices(program: CompiledExpression) -> set[str]:
    """The device types of the code's regions."""
    return {step.region.device for step in program.steps if isinstance(step, Apply) and step.region is not None}


def _aligned(before: CompiledExpression, after: CompiledExpression) -> tuple[Side, Side]:
    """The operands of both texts in one order: by how they are written, and else by their turn."""
    mine, theirs = list(before.operands), list(after.operands)
    if len(theirs) > len(mine):
        raise NotReplayable("with the fix, the expression takes other values from outside")
    ordered: list[Operand] = []
    waiting = list(theirs)
    for operand in mine:
        same = next((each for each in waiting if each.text == operand.text), None)
        if same is not None:
            waiting.remove(same)
        ordered.append(same or operand)
    for place, operand in enumerate(ordered):
        if operand in mine and waiting:
            ordered[place] = waiting.pop(0)
    return Side(before, mine), Side(after, ordered)


def _layout(
    side: Side, known: Mapping[Operand, str], limits: Mapping[Operand, tuple[float, float]], seed: int
) -> Layout:
    """The first shapes of the operands on which the expression can be computed at all."""
    problem = ""
    for layout in layouts():
        point = Sweep(known, limits, layout, seed).ordinary()
        question = Question(side.operands, [False] * len(side.operands))
        exact = answer(side, point, question, Way(precision=torch.float64))
        if not exact.error:
            return layout
        problem = problem or exact.error
    raise NotReplayable(f"no small shapes fit the expression ({problem})")


def _outcome(found: Tally, layout: Layout, given: Mapping[str, float | str], is_partial: bool) -> Outcome:
    unable = next((error for error in found.raised if "not implemented for" in error), "")
    if unable:
        return Outcome(NOT_REPLAYABLE, unable, observables.NON_FINITE)
    verdict, reason = _verdict(found, is_partial)
    counts = found.before, found.after, 0
    values: list[dict[str, float | str]] = [
        {observables.NON_FINITE: count, _WORST: worst} for count, worst in zip(counts, found.errors)
    ]
    if found.raised[0] != found.raised[1]:
        for value, raised in zip(values, (*found.raised, "")):
            value[observables.RAISED] = raised or NONE
    reference: dict[str, float | str] = {"points": found.points, "shape": str(layout), **given, **values[2]}
    left = {
        "beyond float32": found.beyond, "overflow before it": found.upstream, "gradient beyond half": found.narrow * is_partial,
    }  # fmt: skip
    reference |= {name: count for name, count in left.items() if count}
    curve = found.curve
    series = {
        name: tuple(each[place] for each in curve.sizes.values())
        for place, name in enumerate(("before", "after", "reference"))
    }
    axis = Axis(f"value of `{shorten(curve.swept, 40, placeholder=' ...')}`", tuple(curve.sizes), curve.shown)
    outcome = Outcome(verdict, reason, observables.NON_FINITE, values[0], values[1], reference)
    return replace(outcome, series=series, axis=axis) if curve.sizes else outcome


def _verdict(found: Tally, is_partial: bool) -> tuple[str, str]:
    if not found.points:
        return NOT_REPLAYABLE, "exact arithmetic is not finite at any point either"
    if not (found.before or found.after or found.spoiled):
        return NOT_OBSERVABLE, "the defect makes no difference to what is measured"
    if found.spoiled:
        return REFUTED, f"the fix makes {found.spoiled} more points non-finite"
    if found.after and not (is_partial and found.after == found.narrow < found.before):
        return REFUTED, f"with the fix, {found.after} points are still non-finite"
    return CONFIRMED, ""
