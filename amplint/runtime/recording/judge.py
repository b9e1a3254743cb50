"""What the protocol says to what was observed.

The protocol is the one that the static witness runs. Where the static witness must assume, a run has measured, and the
measurement goes into the state:

- A loss is scaled if the autograd graph says so, and a backward pass reaches only the optimizers whose parameters are leaves
  of that graph.
- A scaler's step that was taken is settled: nothing has to ask any more whether it was skipped. So a scheduler is a hazard
  if it advances although the step before it was skipped. It has to move in step with the optimizer for that, one scheduler
  step for one scaler step: one that moves once per epoch does not mind a skipped step. (An epoch of one batch looks like an
  iteration, here.)
- `unscale_` that met no overflow leaves nothing to be tested before a plain step.
- Loops are not seen. A backward pass or a step is in a loop inside a region if its line has run before in that region.
- A call that raised is judged, and then changes nothing.

Gradients, scalers and optimizers are shared by all threads; regions belong to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from amplint.model import events
from amplint.model.protocol.contents import Cast, Entered
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.state import ProtocolState
from amplint.model.protocol.transitions import Protocol
from amplint.runtime.recording.call_sites import SourceLine
from amplint.runtime.recording.event_log import MeasuredFacts, Move, Recorded

_IN_REGION = (0,)
"""The loops around an event that has run before in its region."""


@dataclass(frozen=True)
class SeenHazard:
    """A hazard that happened: its kind and place, the places of the other half by label, and how often.

    `trigger` is the first event that brought it about, with what was measured at it.
    """

    kind: str
    place: SourceLine
    related: Mapping[str, SourceLine]
    scaler: str
    optimizer: str
    details: tuple[str, ...]
    times: int
    trigger: Recorded


def judge_run(
    moves: Iterable[Move],
    places: Sequence[SourceLine],
    objects: Mapping[str, events.ObjectFacts],
    members: Mapping[str, frozenset[int]],
) -> tuple[SeenHazard, ...]:
    """Run the protocol over what happened.

    Args:
        moves: the events, in the order in which they took effect.
        places: the places of the events' sites.
        objects: what is known of the objects that the events name.
        members: the parameters (by id) of each optimizer.

    Returns:
        The hazards, in the order in which they first happened.
    """
    run = RunJudge(objects, lambda: members)
    for move in moves:
        run.follow(move)
    return run.hazards(places)


class RunJudge:
    """Judges a run while it goes on; keeps of each hazard how often it happened and when first.

    Args:
        objects: what is known of the objects that the events name; may grow meanwhile.
        members: asks for the parameters (by id) of each optimizer.
    """

    def __init__(
        self, objects: Mapping[str, events.ObjectFacts], members: Callable[[], Mapping[str, frozenset[int]]]
    ) -> None:
        self._course = _Course(Protocol(objects), members)
        self._times: dict[Hazard, int] = {}
        self._first: dict[Hazard, Recorded] = {}

    def follow(self, move: Move) -> tuple[str, ...]:
        """Take the next move; the kinds of hazards that it is."""
        found = self._course.follow(move)
        for hazard in found:
            self._times[hazard] = self._times.get(hazard, 0) + 1
            self._first.setdefault(hazard, move.recorded)
        return tuple(hazard.kind for hazard in found)

    def hazards(self, places: Sequence[SourceLine]) -> tuple[SeenHazard, ...]:
        """The hazards, in the order in which they first happened; `places` are the places of the events' sites."""
        return tuple(
            SeenHazard(
                hazard.kind,
                places[hazard.site],
                {label: places[site] for label, site in hazard.related},
                hazard.scaler,
                hazard.optimizer,
                hazard.details,
                times,
                self._first[hazard],
            )
            for hazard, times in self._times.items()
        )


@dataclass
class _Stack:
    """The regions that a thread is in and the weights that they keep; which lines have run in each."""

    regions: tuple[Entered, ...] = ()
    casts: frozenset[Cast] = frozenset()
    run: list[set[tuple[int, str]]] = field(default_factory=list)


class _Course:
    """The state of the protocol along a run."""

    def __init__(self, protocol: Protocol, members: Callable[[], Mapping[str, frozenset[int]]]) -> None:
        self._protocol = protocol
        self._members = members
        self._state = PathState()
        self._stacks: dict[int, _Stack] = {}
        self._overflowed: dict[str, bool] = {}
        self._steps: dict[str, int] = {}
        self._advanced: dict[str, dict[str, int]] = {}

    def follow(self, move: Move) -> tuple[Hazard, ...]:
        """Take the next move; the hazards that it is."""
        event, facts = move.recorded.event, move.facts
        stack = self._stacks.setdefault(move.thread, _Stack())
        state = self._state.with_protocol(self._state.protocol.changed(regions=stack.regions))
        state = self._measured_before(state.knowing(casts=stack.casts), event, facts)
        if isinstance(event, events.Backward):
            state = self._left(state)
        loops = _IN_REGION if self._runs_again(state.protocol, stack, event) else ()
        after, hazards = self._protocol.apply(self._in_step(state, event), event, loops)
        hazards = tuple(hazard for hazard in hazards if not self._is_spared(hazard, event, facts))
        if not move.raised:
            protocol = self._measured_after(state.protocol, after.protocol, event, facts)
            stack.regions, stack.casts = protocol.regions, after.facts.casts
            stack.run = [
                *stack.run[: len(stack.regions)],
                *([set()] if isinstance(event, events.AutocastEnter) else []),
            ]
            self._state = PathState(protocol)
            self._count(event, facts)
        return hazards

    def _measured_before(self, state: PathState, event: events.Event, facts: MeasuredFacts) -> PathState:
        """The state with what was measured of the value or the gradients that an event is about."""
        match event:
            case events.Backward(loss=name) | events.Report(value=name) | events.InnerGrad(outputs=name):
                return state.knowing(values=state.facts.values.put(name, facts.value))
            case events.OptimizerStep():
                untested = self._overflowed.get(event.optimizer, False)
                return state.with_protocol(state.protocol.changed(untested=untested))
        return state

    def _measured_after(
        self, before: ProtocolState, after: ProtocolState, event: events.Event, facts: MeasuredFacts
    ) -> ProtocolState:
        """The state with what was measured of gradients that an event has not reached, or of a step that was taken."""
        match event:
            case events.Backward() | events.GradAccess() if facts.reached is not None:
                return after.with_grads({name: before.grad(name) for name in self._spared(facts)})
            case events.ScalerStep():
                stepped = after.stepped.get(event.optimizer)
                skipped = stepped._replace(loops=()) if stepped is not None and not facts.taken else None
                return after.changed(stepped=after.stepped.put(event.optimizer, skipped))
        return after

    def _left(self, state: PathState) -> PathState:
        """The state when the next backward pass begins: what was unscaled and not stepped was left. Exits are not seen."""
        for _, stage in state.protocol.stages.items():
            if stage.name == "unscaled":
                state, _ = self._protocol.apply(state, events.Leave(stage.site))
        return state

    def _spared(self, facts: MeasuredFacts) -> list[str]:
        """The optimizers whose gradients an event has not reached."""
        reached = facts.reached
        if reached is None:
            return []
        return [name for name, members in self._members().items() if members.isdisjoint(reached)]

    def _is_spared(self, hazard: Hazard, event: events.Event, facts: MeasuredFacts) -> bool:
        """Whether a hazard is about gradients that a backward pass has not added to."""
        return isinstance(event, events.Backward) and hazard.optimizer in self._spared(facts)

    def _in_step(self, state: PathState, event: events.Event) -> PathState:
        """The state without the steps that a scheduler does not move in step with."""
        if not isinstance(event, events.SchedulerStep):
            return state
        before = self._advanced.get(event.scheduler, {})
        stepped = state.protocol.stepped
        ahead = [name for name in stepped.keys() if self._steps.get(name, 0) - before.get(name, 0) > 1]
        return state.with_protocol(state.protocol.changed(stepped=stepped.without(ahead)))

    def _count(self, event: events.Event, facts: MeasuredFacts) -> None:
        match event:
            case events.Unscale():
                self._overflowed[event.optimizer] = facts.overflow
            case events.ScalerStep():
                self._steps[event.optimizer] = self._steps.get(event.optimizer, 0) + 1
            case events.SchedulerStep():
                self._advanced[event.scheduler] = dict(self._steps)

    @staticmethod
    def _runs_again(state: ProtocolState, stack: _Stack, event: events.Event) -> bool:
        """Whether this line has run before in the region that is active."""
        if not isinstance(event, (events.Backward, events.OptimizerStep, events.ScalerStep)):
            return False
        active = state.active_region
        key = (event.site, "" if isinstance(event, events.Backward) else event.optimizer)
        again = any(entered is active and key in run for entered, run in zip(state.regions, stack.run))
        for run in stack.run:
            run.add(key)
        return again
