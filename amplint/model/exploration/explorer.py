"""Runs the protocol over every feasible path of a function.

A worklist over the blocks of its control-flow graph: the states that can hold at a point are carried along together. A
condition that is met again takes the same side, unless a reference in it was assigned in between. What nobody asks for any
more is forgotten (`liveness`), and where many states meet, those in which the protocol stands alike become one (`joins`), so
that the cost is that of protocol states times blocks. Functions that are called are worked out once for each state that
matters to them (`summaries`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from amplint.model.event_graph import Call, Function
from amplint.model.events import Assign, Clip, Event, ObjectFacts, Scale
from amplint.model.exploration.activations import Activation
from amplint.model.exploration.branch_decisions import Conditions, assigned, forget_tests, next_iteration
from amplint.model.exploration.call_references import Frame, keys_of
from amplint.model.exploration.effects import MAX_DEPTH, Flows
from amplint.model.exploration.flow_graph import (
    Ask,
    Block,
    EndRegions,
    Enter,
    Exit,
    Gather,
    Iterate,
    Join,
    Pass,
)
from amplint.model.exploration.joins import Point, States, without_both
from amplint.model.exploration.liveness import Liveness
from amplint.model.exploration.optimizer_loops import updates_between
from amplint.model.exploration.summaries import Concern, Summary, returned
from amplint.model.protocol.contents import Entered, Truth
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.references import key_of

MAX_WORK = 200_000
"""Steps of states through blocks, for one root function: beyond it the rest of its paths are given up."""


class GiveUp(Exception):
    """The bound is met."""


class Explorer:
    """Explores one root function.

    `hazards` holds what was found, in order. `gave_up` says that the bound was met, and not all paths were seen; `degraded`
    that somewhere so many protocol states met that what differs between them was forgotten.

    Args:
        flows: the graphs that calls in it may enter.
        objects: what is known of each reference from its construction.
        nothing_scales: whether the whole program is known to call `scale` nowhere.
    """

    def __init__(self, flows: Flows, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False) -> None:
        self._flows = flows
        self._protocol = Protocol(objects, nothing_scales)
        self._conditions = Conditions(self._protocol, {key_of(name) for name, facts in objects.items() if facts.made})
        self._live: dict[tuple[str, bool], Liveness] = {}
        self._activations: dict[object, Activation] = {}
        self._constant = 0
        self.work = 0
        self.hazards: dict[Hazard, None] = {}
        self.events: set[Event] = set()
        self.gave_up = False
        self.degraded = False

    def run(self, root: Function, start: PathState | None = None) -> None:
        """Explore every path of a function.

        Args:
            root: the function.
            start: the state in which it is entered; by default one in which nothing is known.
        """
        liveness = self._liveness(root, called=False)
        activation = Activation(Frame(root), self._flows.graph(root), liveness, Concern(frozenset(), frozenset()))
        summary = Summary()
        try:
            self._explore(activation, start or PathState(), summary)
        except GiveUp:
            self.gave_up = True
        self.hazards = {replace(hazard, root=root.key): None for hazard in summary.hazards}

    def _liveness(self, function: Function, called: bool) -> Liveness:
        key = function.key, called
        if key not in self._live:
            self._live[key] = Liveness(self._flows.graph(function), self._flows, called)
        return self._live[key]

    # -- one function ------------------------------------------------------------------------------------------------

    def _explore(self, activation: Activation, entry: PathState, summary: Summary) -> None:
        """Go round the blocks until nothing new arrives anywhere; fills the summary."""
        blocks = activation.graph.blocks
        points = [Point() for _ in blocks]
        points[0].arrive([entry])
        waiting = [0]
        while waiting:
            block = blocks[heappop(waiting)]
            states = points[block.number].take()
            self.work += len(states)
            if self.work > MAX_WORK:
                raise GiveUp
            for following, after in self._step(block, states, activation, summary, entry):
                arriving = points[following.number]
                idle = arriving.is_idle
                arriving.arrive(activation.survivors(after, block, following))
                self.degraded = self.degraded or arriving.degraded
                if idle and not arriving.is_idle:
                    heappush(waiting, following.number)

    def _step(
        self, block: Block, states: list[PathState], activation: Activation, summary: Summary, entry: PathState
    ) -> Iterator[tuple[Block, Iterable[PathState]]]:
        """Where states go from a block, and as which."""
        if block.raises or (block.fails and activation.watched):
            failing = _failing(block.step, states)
            if block.fails:
                _end_by_raising(failing, entry, summary)
            for handler in block.raises:
                yield handler, failing
        frame = activation.at(block)
        after: Iterable[PathState]
        match block.step:
            case Pass():
                after = states
            case Ask():
                yield from self._ask(block, states, activation)
                return
            case Join():
                asked = block.step.asked
                keys = sorted(map(frame.key, keys_of(asked))) if asked is not None else [*self._conditions.constant]
                after = without_both(states, [key for key in keys if key in self._conditions.constant])
            case Enter(region, site):
                entered = Entered(region, site, len(frame.loops))
                after = [state.entering(entered) for state in states]
            case EndRegions(count):
                after = [state.leaving(count) for state in states]
            case Iterate(loop):
                targets = [frame.ref(target) for target in loop.targets]
                after = [next_iteration(state, loop.site, targets) for state in states]
            case Gather(loop):
                for hazard in updates_between(self._protocol, loop, states, frame):
                    summary.hazards[hazard] = None
                after = states
            case Call():
                returned = self._call(block, block.step, states, activation, summary, entry)
                for handler in block.raises:
                    yield handler, returned.raised
                after = returned.normal
            case Exit(kind):
                summary.exits.setdefault(kind, {}).update(dict.fromkeys(states))
                return
            case _:
                after = self._happen(block, states, activation, summary)
        for following in block.next:
            yield following, after

    def _ask(
        self, block: Block, states: list[PathState], activation: Activation
    ) -> Iterator[tuple[Block, Iterable[PathState]]]:
        assert isinstance(block.step, Ask)
        frame, asked = activation.at(block), activation.asked_after(block)
        # What a caller asks for later, nobody knows here.
        shared = activation.frame.prefix

        def remembers(key: str) -> bool:
            return key in asked or bool(shared) and shared not in key

        taken: dict[bool, States] = {True: {}, False: {}}
        for state in states:
            for after, truth in self._conditions.decide(block.step.condition, state, frame, remembers):
                taken[truth][after] = None
        for truth, following in zip((True, False), block.next):
            yield following, taken[truth]

    def _happen(
        self, block: Block, states: list[PathState], activation: Activation, summary: Summary
    ) -> list[PathState]:
        event, frame = activation.event(block), activation.at(block)
        if frame.at < 0:
            self.events.add(event)
        if not isinstance(event, (Assign, Scale)):
            after: list[PathState] = []
            for state in states:
                left, hazards = self._protocol.apply(state, event, frame.loops)
                after.append(left)
                summary.hazards.update(dict.fromkeys(hazards))
            return after
        if activation.is_forgotten(block):
            return [assigned(state, event.target) for state in states]
        keep = isinstance(event, Assign) and event.truth is not None
        return [
            forget_tests(self._protocol.apply(state, event, frame.loops)[0], event.target, keep) for state in states
        ]

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(
        self,
        block: Block,
        call: Call,
        states: list[PathState],
        activation: Activation,
        summary: Summary,
        entry: PathState,
    ) -> _Returned:
        function = self._flows.function(call.function)
        frame = activation.at(block)
        if function is None or frame.depth >= MAX_DEPTH:
            return _Returned(dict.fromkeys(states))
        entered = self._activation(function, call, frame, bool(block.raises) or (block.fails and activation.watched))
        given = {entered.frame.key(key_of(name)): Truth(truth) for name, truth in call.truths}
        after = _Returned()
        target = frame.ref(call.target) if call.target else ""
        for state in states:
            state = state.knowing(truths=state.facts.truths.put_all(given))
            inside, beside = entered.concern.split(state)
            found = self._summary(entered, inside)
            for hazard in found.hazards:
                calls = hazard.calls if entered.frame.at >= 0 else ((call.site, call.function), *hazard.calls)
                summary.hazards[replace(hazard, calls=calls)] = None
            for kind, exits in found.exits.items():
                for left in exits:
                    back = returned(left, beside, entered.frame.prefix, target)
                    (after.raised if kind == "raise" else after.normal)[back] = None
        if not block.raises:
            _end_by_raising(after.raised, entry, summary)
        return after

    def _activation(self, function: Function, call: Call, frame: Frame, watched: bool) -> Activation:
        """How a call enters a function; the same for all calls that hand over the same."""
        effects = self._flows.of(function)
        below = frame.entering(function, call, "")
        conditions = tuple(each for each in below.conditions if key_of(each[0]) in effects.asked)
        handed = tuple((name, caller.told(condition)) for name, condition, caller in conditions)
        nest = below.around.prefix if below.around is not None else ""
        key = (function.key, below.binding, below.loops, below.at, handed, below.depth, watched, nest)
        if key not in self._activations:
            below = replace(below, prefix=f"#{len(self._activations)}/", calls=(), conditions=conditions)
            liveness = self._liveness(function, called=True)
            asked = {*map(below.need, liveness.at_start), *_handed_keys(below)}
            concern = Concern(frozenset(asked), frozenset(map(below.ref, effects.assigned)))
            self._activations[key] = Activation(below, self._flows.graph(function), liveness, concern, watched)
        return self._activations[key]

    def _summary(self, activation: Activation, state: PathState) -> Summary:
        if state not in activation.summaries:
            activation.summaries[state] = summary = Summary()
            self._explore(activation, state, summary)
        return activation.summaries[state]


@dataclass
class _Returned:
    """The states after a call: those in which it has come back, and those in which it has raised."""

    normal: States = field(default_factory=dict)
    raised: States = field(default_factory=dict)


def _failing(step: object, states: list[PathState]) -> list[PathState]:
    """The states in which a step may fail, other than by an explicit `raise`.

    Programs reckon with failures of passes; a clip that raises is there to fail. Between `unscale_` and `update` nobody else
    does, so that what would follow from it is not worth a finding.
    """
    return states if isinstance(step, Clip) else [state for state in states if not len(state.protocol.stages)]


def _end_by_raising(states: Iterable[PathState], entry: PathState, summary: Summary) -> None:
    """Leave the function, and all regions that it has entered."""
    ended = summary.exits.setdefault("raise", {})
    ended.update({state.leaving_to(len(entry.protocol.regions)): None for state in states})


def _handed_keys(frame: Frame) -> Iterator[str]:
    """The keys of the conditions whose outcomes a call is given."""
    for _, condition, caller in frame.conditions:
        yield from keys_of(caller.told(condition))
