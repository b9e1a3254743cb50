"""Whether a fix takes away what half precision does to an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from amplint.diagnostics import Applicability, Diagnostic
from amplint.dtypes.values import DType
from amplint.model import observables
from amplint.model.torch import precision
from amplint.rule import File
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.devices import CPU
from amplint.runtime.measures.measurement import NONE
from amplint.runtime.numeric.answer import Comparison, Inquiry, TextSide
from amplint.runtime.numeric.body_results import BACKWARD, RETURN, YIELD
from amplint.runtime.numeric.compute import CompiledExpression
from amplint.runtime.numeric.digits import judged_by_digits
from amplint.runtime.numeric.expression import Apply, Expression, Literal
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.finding import Differing, Pair, pairs
from amplint.runtime.numeric.finding_place import above, aside
from amplint.runtime.numeric.hidden_changes import (
    casts_in_the_unknown,
    digits_kept,
    epsilons_kept,
    half_where_unknown,
)
from amplint.runtime.numeric.meaning import EVERYDAY, is_alike, is_coarser, kept_in_half, kept_out_of_half, meant
from amplint.runtime.numeric.operand_kinds import FREE, ORDINARY, bounds, kinds
from amplint.runtime.numeric.same_operands import SameOperands, aligned, fitting, on_operands_of
from amplint.runtime.numeric.sweep import Layout, Sweep
from amplint.runtime.numeric.tally import NARROW, Tally, tally
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.verdict import (
    CONFIRMED,
    EXPRESSION,
    NOT_OBSERVABLE,
    NOT_REPLAYABLE,
    PARTLY,
    REFUTED,
    Axis,
    Outcome,
)

_WORST = "worst relative error"
_GPUS = frozenset({"cuda", "xpu", "mtia", "maia"})
"""Device types with CUDA's autocast table."""
_SCALE = 65536.0
"""The factor of the loss with which a `GradScaler` starts."""
_WIDE = DType(precision.FLOAT64)
_RESULTS = {BACKWARD: "the backward pass", RETURN: "what is returned"}
_SHAPES_DECIDE = "what the fixed expression means depends on the number of dimensions, which the file does not tell"


@dataclass(frozen=True)
class BesideExpression:
    """What is told of a repair besides its expression, where it is not the fix of the rule.

    Attributes:
        own: the file with the fix of the rule; None where that is what is judged.
        told: what the texts tell.
        beyond: the changes of which no evidence speaks.
    """

    own: File | None = None
    told: Sequence[Observation] = ()
    beyond: Sequence[str] = ()


def prove(
    before: File,
    after: File,
    diagnostic: Diagnostic,
    measure: str,
    device: str,
    seed: int,
    is_patch: bool = False,
    beside: BesideExpression = BesideExpression(),
) -> Outcome:
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
        is_patch: whether `after` is somebody else's patch.
        beside: what is known of a repair that is not the fix of the rule.
    """
    problem = ""
    facts = DtypeTrace(before)
    fixed = _with_own_fix(facts, beside.own, diagnostic)
    is_partial = diagnostic.fix is not None and diagnostic.fix.applicability is Applicability.UNSAFE
    try:
        for pair in pairs(facts, DtypeTrace(after), diagnostic, is_patch):
            try:
                pair = replace(pair, beyond=(*beside.beyond, *pair.beyond), own=fixed.get(pair.kind))
                outcome = _judged(pair, measure, device, seed, is_partial, beside.told)
                # Of two findings in one expression, the other one may be what is left.
                return replace(outcome, others=(diagnostic.name,)) if outcome.verdict in (REFUTED, PARTLY) else outcome
            except NotReplayable as error:  # what is nearer to the finding may still be computed
                problem = problem or str(error)
    except NotReplayable as error:
        problem = problem or str(error)
    return Outcome(NOT_REPLAYABLE, problem, measure)


def _with_own_fix(facts: DtypeTrace, own: File | None, diagnostic: Diagnostic) -> dict[str, Expression]:
    """What comes of a finding with the fix of its rule, by the kinds of results; nothing where that is not known."""
    if own is None:
        return {}
    try:
        found = [*pairs(facts, DtypeTrace(own), diagnostic)]
    except NotReplayable:
        return {}
    return {each.kind: each.after for each in reversed(found) if each.after is not None}


def _judged(pair: Pair, measure: str, device: str, seed: int, is_partial: bool, told: Sequence[Observation]) -> Outcome:
    if pair.after is None:
        gone = Observation(Question.GONE, "the finding", False, False)
        lost = Observation(Question.LOST, _RESULTS.get(pair.kind, pair.kind), True, False)
        return judge([gone, lost], Outcome(NOT_REPLAYABLE, "", observables.NON_FINITE, basis=EXPRESSION))
    before, after = aligned(CompiledExpression(pair.before), CompiledExpression(pair.after))
    meant_for = _devices(before.program)
    foreign = sorted(meant_for - ({"cpu"} if device == CPU else _GPUS | {"cpu"}))
    if foreign:
        return Outcome(NOT_OBSERVABLE, f"the code is for {foreign[0]!r}", observables.NON_FINITE)
    device = CPU if meant_for == {"cpu"} else device
    steps = before.program.steps
    known = kinds(steps, before.operands, above(pair.marks[0]))
    if FREE not in known.values():
        raise NotReplayable("no operand whose magnitude decides is found")
    limits = bounds(steps, before.operands)
    sweeps = list(fitting(before, known, limits, seed))
    points = list(sweeps[0].points())
    wanted = [known[owner] in (FREE, ORDINARY) and not owner.detached for owner in before.operands]
    everything: list[Observation] = []
    beyond = _left_open(pair, before, after, device, seed)
    outcome = Outcome(NOT_REPLAYABLE, "nothing was computed", observables.NON_FINITE)
    is_idle = False
    for scale, out, given in _trials(pair):
        if is_idle and scale != 1.0:
            break  # it mends nothing of what shows already; what a scaled loss brings about besides is another defect
        compared = Comparison(before, after, Inquiry(before.operands, wanted, scale), device)
        found = tally(compared, points, pair.marks[1], out)
        if not everything:
            own = None if pair.own is None else on_operands_of(before, pair.own)
            everything = [*told, *_besides(compared, pair, found, sweeps[0], own, seed)]
            beyond += half_where_unknown(compared, own, sweeps[0].ordinary())
        unable = next((error for error in found.raised if "not implemented for" in error), "")
        if unable:
            outcome = replace(outcome, reason=unable)
            continue
        by_digits = measure == observables.VALUE_ERROR and not given
        defect = [one for one in found.observations(is_partial) if not (by_digits and one.is_left and one.same)]
        shown = replace(_shown(found, sweeps[0].layout, given, is_partial), assumed=sweeps[0].assumed)
        trial = judge([*defect, *everything], shown, beyond=beyond)
        if trial.verdict == CONFIRMED and not all(is_alike(compared, each.ordinary()) for each in sweeps[1:]):
            return replace(trial, verdict=NOT_REPLAYABLE, reason=_SHAPES_DECIDE)
        if trial.verdict == CONFIRMED or any(each.is_spoiled for each in (*defect, *everything)):
            return trial
        outcome = trial if scale == 1.0 else outcome
        is_idle = any(one.is_left for one in defect) and not any(one.after and not one.before for one in defect)
        if by_digits and not any(one.before != one.after for one in defect):
            return judged_by_digits(found, everything, outcome, beyond)
        if given and outcome.verdict != NOT_OBSERVABLE:
            return outcome
    return outcome


def _left_open(pair: Pair, before: TextSide, after: TextSide, device: str, seed: int) -> list[str]:
    """The changes of which no evidence speaks."""
    beyond = [*pair.beyond, *(each.what for each in pair.elsewhere if not _means_the_same(each, device, seed))]
    if len(casts_in_the_unknown(after)) > len(casts_in_the_unknown(before)):
        beyond.append("a cast to half, where only a run tells the precision")
    return beyond


def _besides(
    compared: Comparison, pair: Pair, found: Tally, sweep: Sweep, own: TextSide | None, seed: int
) -> Iterator[Observation]:
    """What else the fix may have changed than what the finding is about, whatever the scale of the loss."""
    yield Observation(Question.LOST, "the scale of the loss", True, not pair.is_unscaled)
    yield from meant(found.told, compared)
    yield from kept_in_half(compared, pair.marks[0], sweep.ordinary())
    yield from kept_out_of_half(compared, own, sweep.ordinary())
    yield from epsilons_kept(compared, sweep)
    yield from digits_kept(compared, pair.own, sweep, seed)


def _means_the_same(differing: Differing, device: str, seed: int) -> bool:
    """Whether something else that a body comes to is what it was, and no coarser; flags and indices count as numbers."""
    before, after = (
        each
        if not isinstance(each, Apply)
        else replace(each, op="cast.to", arguments=(each, Literal(_WIDE)), keywords=())
        for each in (differing.before, differing.after)
    )
    try:
        both = SameOperands.of(before, after, seed)
    except NotReplayable:
        return False
    compared = both.compared(with_gradients=differing.what in (BACKWARD, RETURN, YIELD))
    points = [each for each in both.sweep.points() if each.even and abs(each.at) <= EVERYDAY[1]]
    if not all(is_alike(compared, each) for each in (both.sweep.ordinary(), *points)):
        return False
    under_amp = replace(compared, device=device)
    return not is_coarser(differing.before, differing.after, under_amp, both.sweep.ordinary())


_Trial = tuple[float, tuple[frozenset[int], frozenset[int]], dict[str, "float | str"]]


def _trials(pair: Pair) -> Iterator[_Trial]:
    """Everything together; then without what has no part in the finding, which may have defects of its own. Where the defect
    is an overflow of gradients, it may show with a scaled loss only."""
    sides = [each for each in (pair.before, pair.after) if each is not None]
    apart = aside(sides[0], pair.marks[0]), aside(sides[1], pair.marks[1])
    for scale in (1.0, _SCALE):
        scaled: dict[str, float | str] = {"loss scale": scale} if scale != 1.0 else {}
        yield scale, (frozenset(), frozenset()), scaled
        if any(apart) and all(pair.marks):
            yield scale, apart, scaled | {"other terms": "held fixed"}


def _devices(program: CompiledExpression) -> set[str]:
    """The device types of the code's regions."""
    return {step.region.device for step in program.steps if isinstance(step, Apply) and step.region is not None}


def _shown(found: Tally, layout: Layout, given: Mapping[str, float | str], is_partial: bool) -> Outcome:
    """What is shown of a sweep; the verdict is still to be found."""
    counts = found.before, found.after, 0
    values: list[dict[str, float | str]] = [
        {observables.NON_FINITE: count, _WORST: worst} for count, worst in zip(counts, found.errors)
    ]
    if found.raised[0] != found.raised[1]:
        for value, raised in zip(values, (*found.raised, "")):
            value[observables.RAISED] = raised or NONE
    reference: dict[str, float | str] = {"points": len(found.told), "shape": str(layout), **given, **values[2]}
    reference |= {name: count for name, count in found.left_out.items() if count and (is_partial or name != NARROW)}
    curve = found.curve
    series = {
        name: tuple(each[place] for each in curve.sizes.values())
        for place, name in enumerate(("before", "after", "reference"))
    }
    axis = Axis(f"value of `{shorten(curve.swept, 40, placeholder=' ...')}`", tuple(curve.sizes), curve.shown)
    reason = "exact arithmetic is not finite at any point either"
    outcome = Outcome(NOT_REPLAYABLE, reason, observables.NON_FINITE, values[0], values[1], reference, basis=EXPRESSION)
    return replace(outcome, series=series, axis=axis) if curve.sizes else outcome
