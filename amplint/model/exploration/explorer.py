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
from amplint.model.exploration.branch_decisions import Conditions, forget_tests, renew
from amplint.model.exploration.call_references import RETURN, Frame, keys_of
from amplint.model.exploration.effects import MAX_DEPTH, Flows
from amplint.model.exploration.flow_graph import (
    Ask,
    Block,
    Enter,
    Exit,
    FlowGraph,
    Gather,
    Iterate,
    Join,
    Leave,
    Pass,
)
from amplint.model.exploration.joins import Point, States, without_both
from amplint.model.exploration.liveness import NOTHING, Death, Liveness
from amplint.model.exploration.optimizer_loops import updates_between
from amplint.model.exploration.summaries import Concern, Summary
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.state import Entered, Once, Slot, State
from amplint.model.protocol.transitions import Protocol

MAX_WORK = 200_000
"""Steps of states through blocks, for one root function: beyond it the rest of its paths are given up."""


class GiveUp(Exception):
    """The bound is met."""


@dataclass(eq=False)
class _Activation:
    """A function as one kind of call enters it: its references mean the same in all of them.

    `watched` says that a handler of some caller takes over when it fails.
    """

    frame: Frame
    graph: FlowGraph
    liveness: Liveness
    concern: Concern
    watched: bool = False
    summaries: dict[State, Summary] = field(default_factory=dict)
    translated: dict[int, Event] = field(default_factory=dict)
    frames: dict[tuple[int, ...], Frame] = field(default_factory=dict)
    deaths: dict[tuple[int, int], Death] = field(default_factory=dict)
    asked: dict[int, frozenset[str]] = field(default_factory=dict)

    def at(self, block: Block) -> Frame:
        """The frame, inside the loops around a block."""
        if block.loops not in self.frames:
            self.frames[block.loops] = replace(self.frame, loops=(*self.frame.loops, *block.loops))
        return self.frames[block.loops]

    def death(self, block: Block, following: Block) -> Death:
        """What dies on the way from a block to the next, as the root function would write it."""
        way = block.number, following.number
        if way not in self.deaths:
            found = self.liveness.death(block, following)
            own = self.frame.prefix
            soon, ever = (
                frozenset(name for need in names if own in (name := self.frame.need(need)))
                for names in (found.soon, found.ever)
            )
            self.deaths[way] = Death(soon, ever) if soon or ever else NOTHING
        return self.deaths[way]

    def asked_after(self, block: Block) -> frozenset[str]:
        """The needs of what follows a block, as the root function would write them."""
        if block.number not in self.asked:
            self.asked[block.number] = frozenset(map(self.frame.need, self.liveness.asked_after(block)))
        return self.asked[block.number]


class Explorer:
    """Explores one root function; `flows` are the graphs that calls in it may enter.

    `hazards` holds what was found, in order. `gave_up` says that the bound was met, and not all paths were seen; `degraded`
    that somewhere so many protocol states met that what differs between them was forgotten.
    """

    def __init__(self, flows: Flows, objects: Mapping[str, ObjectFacts], nothing_scales: bool = False) -> None:
        self._flows = flows
        self._protocol = Protocol(objects, nothing_scales)
        self._conditions = Conditions(self._protocol, {f"‹{name}›" for name, facts in objects.items() if facts.made})
        self._live: dict[tuple[str, bool], Liveness] = {}
        self._activations: dict[object, _Activation] = {}
        self._constant = 0
        self.work = 0
        self.hazards: dict[Hazard, None] = {}
        self.events: set[Event] = set()
        self.gave_up = False
        self.degraded = False

    def run(self, root: Function, start: State | None = None) -> None:
        """Explore every path of `root` from a state in which nothing is known."""
        liveness = self._liveness(root, called=False)
        activation = _Activation(Frame(root), self._flows.graph(root), liveness, Concern(frozenset(), frozenset()))
        summary = Summary()
        try:
            self._explore(activation, start or State(), summary)
        except GiveUp:
            self.gave_up = True
        self.hazards = {replace(hazard, root=root.key): None for hazard in summary.hazards}

    def _liveness(self, function: Function, called: bool) -> Liveness:
        key = function.key, called
        if key not in self._live:
            self._live[key] = Liveness(self._flows.graph(function), self._flows, called)
        return self._live[key]

    # -- one function ------------------------------------------------------------------------------------------------

    def _explore(self, activation: _Activation, entry: State, summary: Summary) -> None:
        """Go round the blocks until nothing new arrives anywhere; fills the summary."""
        blocks = activation.graph.blocks
        points = [Point() for _ in blocks]
        points[0].arrive([entry])
        waiting = [0]
        while waiting:
            block = blocks[heappop(waiting)]
            point = points[block.number]
            states = point.take()
            if not states:
                continue
            self.work += len(states)
            if self.work > MAX_WORK:
                raise GiveUp
            for following, after in self._step(block, states, activation, summary, entry):
                arriving = points[following.number]
                idle = not arriving.fresh
                arriving.arrive(
                    _survivors(after, activation.death(block, following), len(activation.at(following).loops))
                )
                self.degraded = self.degraded or arriving.degraded
                if idle and arriving.fresh:
                    heappush(waiting, following.number)

    def _step(
        self, block: Block, states: States, activation: _Activation, summary: Summary, entry: State
    ) -> Iterator[tuple[Block, States]]:
        """Where states go from a block, and as which."""
        if block.raises or (block.fails and activation.watched):
            failing = _failing(block.step, states)
            if block.fails:
                _end_by_raising(failing, entry, summary)
            for handler in block.raises:
                yield handler, failing
        frame = activation.at(block)
        match block.step:
            case Pass():
                after = states
            case Ask():
                yield from self._ask(block, states, activation)
                return
            case Join():
                asked = block.step.asked
                keys = sorted(map(frame.key, keys_of(asked))) if asked is not None else [*self._conditions.constant]
                after = without_both(states, keys, self._conditions.constant)
            case Enter(region, site):
                entered = Entered(region, site, len(frame.loops))
                after = {state.entering(entered): None for state in states}
            case Leave(count):
                after = {state.leaving(count): None for state in states}
            case Iterate(loop):
                targets = [frame.ref(target) for target in loop.targets]
                after = {_next_iteration(state, loop.site, targets): None for state in states}
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
                summary.exits.setdefault(kind, {}).update(states)
                return
            case _:
                after = self._happen(block.step, states, frame, activation, summary)
        for following in block.next:
            yield following, after

    def _ask(self, block: Block, states: States, activation: _Activation) -> Iterator[tuple[Block, States]]:
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

    def _happen(self, event: Event, states: States, frame: Frame, activation: _Activation, summary: Summary) -> States:
        if id(event) not in activation.translated:
            activation.translated[id(event)] = frame.event(event)
            if frame.at < 0:
                self.events.add(activation.translated[id(event)])
        event = activation.translated[id(event)]
        after: States = {}
        for state in states:
            state, hazards = self._protocol.apply(state, event, frame.loops)
            for hazard in hazards:
                summary.hazards[hazard] = None
            if isinstance(event, (Assign, Scale)):
                state = forget_tests(state, event.target, keep=isinstance(event, Assign) and event.truth is not None)
            after[state] = None
        return after

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(
        self, block: Block, call: Call, states: States, activation: _Activation, summary: Summary, entry: State
    ) -> _Returned:
        function = self._flows.function(call.function)
        frame = activation.at(block)
        if function is None or frame.depth >= MAX_DEPTH:
            return _Returned(states)
        entered = self._activation(function, call, frame, bool(block.raises) or (block.fails and activation.watched))
        truths: dict[Slot, object | None] = {
            ("test", entered.frame.key(f"‹{name}›")): truth for name, truth in call.truths
        }
        returned = _Returned()
        target = frame.ref(call.target) if call.target else ""
        for state in states:
            inside, beside = entered.concern.split(state.put(truths))
            found = self._summary(entered, inside)
            for hazard in found.hazards:
                calls = hazard.calls if entered.frame.at >= 0 else ((call.site, call.function), *hazard.calls)
                summary.hazards[replace(hazard, calls=calls)] = None
            for kind, exits in found.exits.items():
                for left in exits:
                    after = _back(left, beside, entered.frame.prefix, target)
                    (returned.raised if kind == "raise" else returned.normal)[after] = None
        if not block.raises:
            _end_by_raising(returned.raised, entry, summary)
        return returned

    def _activation(self, function: Function, call: Call, frame: Frame, watched: bool) -> _Activation:
        """How a call enters a function; the same for all calls that hand over the same."""
        effects = self._flows.of(function)
        below = frame.entering(function, call, "")
        conditions = tuple(each for each in below.conditions if f"‹{each[0]}›" in effects.asked)
        handed = tuple((name, caller.told(condition)) for name, condition, caller in conditions)
        nest = below.around.prefix if below.around is not None else ""
        key = (function.key, below.binding, below.loops, below.at, handed, below.depth, watched, nest)
        if key not in self._activations:
            below = replace(below, prefix=f"#{len(self._activations)}/", calls=(), conditions=conditions)
            liveness = self._liveness(function, called=True)
            asked = {*map(below.need, liveness.at_start), *_handed_keys(below)}
            concern = Concern(frozenset(asked), frozenset(map(below.ref, effects.assigned)))
            self._activations[key] = _Activation(below, self._flows.graph(function), liveness, concern, watched)
        return self._activations[key]

    def _summary(self, activation: _Activation, state: State) -> Summary:
        if state not in activation.summaries:
            activation.summaries[state] = summary = Summary()
            self._explore(activation, state, summary)
        return activation.summaries[state]


@dataclass
class _Returned:
    """The states after a call: those in which it has come back, and those in which it has raised."""

    normal: States = field(default_factory=dict)
    raised: States = field(default_factory=dict)


def _failing(step: object, states: States) -> States:
    """The states in which a step may fail, other than by an explicit `raise`.

    Programs reckon with failures of passes; a clip that raises is there to fail. Between `unscale_` and `update` nobody else
    does, so that what would follow from it is not worth a finding.
    """
    return states if isinstance(step, Clip) else {state: None for state in states if not state.having("stage")}


def _end_by_raising(states: Iterable[State], entry: State, summary: Summary) -> None:
    """Leave the function, and all regions that it has entered."""
    ended = summary.exits.setdefault("raise", {})
    ended.update({state.leaving_to(len(entry.regions)): None for state in states})


def _handed_keys(frame: Frame) -> Iterator[str]:
    """The keys of the conditions whose outcomes a call is given."""
    for _, condition, caller in frame.conditions:
        yield from keys_of(caller.told(condition))


def _back(state: State, beside: Mapping[Slot, object], prefix: str, target: str) -> State:
    """A state after a call: with what stayed with the caller, and with the result in the place of what was local."""
    result = state.value(f"{prefix}{RETURN}")
    changes: dict[Slot, object | None] = {
        slot: None for kind in ("value", "test", "once") for slot, _ in state.having(kind) if prefix in slot[1]
    }
    changes.update(beside)
    if target:
        changes["value", target] = result
    return state.put(changes)


def _next_iteration(state: State, loop: int, targets: Iterable[str]) -> State:
    """The state when an iteration begins: what was asked in the last one is asked anew, and the targets hold the next values."""
    asked = {slot: None for slot, once in state.having("once") if isinstance(once, Once) and loop in once.loops}
    if asked:
        state = state.put(asked)
    for target in targets:
        state = renew(state, target)
    return state


def _survivors(states: States, death: Death, loops: int) -> Iterable[State]:
    """The states without what has died; `loops` is the number of loops around."""
    if death is NOTHING:
        return states
    return {_without(state, death, loops): None for state in states}


def _without(state: State, death: Death, loops: int) -> State:
    dead: dict[Slot, None] = {}
    for kind in ("test", "value"):
        for slot, _ in state.having(kind):
            if slot[1] in death.ever:
                dead[slot] = None
    for slot, once in state.having("once"):
        assert isinstance(once, Once)
        if slot[1] in (death.soon if len(once.loops) >= loops else death.ever):
            dead[slot] = None
    return state.put(dead) if dead else state
