"""What the blocks of a control-flow graph make of states: the same for all paths at once, and for a single run.

In which order blocks are gone round, and what becomes of a call that was worked out before, is up to who runs the graph:
`amplint.model.exploration.explorer` follows every path, `amplint.runtime.replay.path_walk` one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from amplint.model.event_graph import Call, Function
from amplint.model.events import Assign, Event, Scale
from amplint.model.exploration.activations import Activation
from amplint.model.exploration.branch_decisions import Asking, Conditions, forget_tests, next_iteration
from amplint.model.exploration.call_references import MAX_DEPTH, Frame, keys_of
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.flow_graph import Ask, Block, Exit, Gather, Iterate, Join, Pass
from amplint.model.exploration.joins import States, without_both
from amplint.model.exploration.liveness import Liveness
from amplint.model.exploration.optimizer_loops import OptimizerLoops
from amplint.model.exploration.summaries import Concern, Summary, returned
from amplint.model.protocol.contents import Truth
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.records import changed
from amplint.model.references import key_of

Ways = Iterator[tuple[Block, Iterable[PathState]]]
"""The blocks that follow, each with the states in which they are reached."""


@dataclass(eq=False)
class Run:
    """One run of a function: as which it was entered, in which state, and what has come of it."""

    activation: Activation
    entry: PathState
    summary: Summary

    def end_by_raising(self, states: Iterable[PathState]) -> None:
        """Leave the function, and all regions that it has entered."""
        depth = len(self.entry.protocol.regions)
        self.summary.exits.setdefault("raise", {}).update({state.leaving_to(depth): None for state in states})


@dataclass
class Returned:
    """The states after a call: those in which it has come back, and those in which it has raised."""

    normal: States = field(default_factory=dict)
    raised: States = field(default_factory=dict)


class GraphRunner(ABC):
    """Runs the graphs of a root function and of what it calls.

    Args:
        flows: the graphs that calls may enter.
        protocol: what events do.
        conditions: which sides of a branch a state can take.
    """

    def __init__(self, flows: Flows, protocol: Protocol, conditions: Conditions) -> None:
        self._flows, self._protocol, self._conditions = flows, protocol, conditions
        self._activations: dict[object, Activation] = {}
        self._optimizer_loops = OptimizerLoops(protocol, flows)

    @abstractmethod
    def _summary(self, activation: Activation, state: PathState) -> Summary:
        """What a function makes of a state."""

    def _root(self, function: Function) -> Activation:
        """The root function, as nobody calls it."""
        concern = Concern(frozenset(), frozenset())
        return Activation(Frame(function), self._flows.graph(function), self._liveness(function, False), concern)

    def _liveness(self, function: Function, called: bool) -> Liveness:
        flows = self._flows
        return flows.once((Liveness, function.key, called), lambda: Liveness(flows.graph(function), flows, called))

    def _step(self, block: Block, states: list[PathState], run: Run) -> Ways:
        """Where states go from a block, and as which."""
        yield from self._failures(block, states, run)
        frame, step = run.activation.at(block), block.step
        after: Iterable[PathState] = states
        match step:
            case Pass():
                pass
            case Ask():
                yield from self._ask(block, step, states, run)
                return
            case Join():
                after = self._join(step, states, frame)
            case Iterate(loop):
                targets = [frame.ref(target) for target in loop.targets]
                after = [next_iteration(state, frame.loops, targets) for state in states]
            case Gather(loop):
                run.summary.add(self._optimizer_loops.updates_between(loop, states, frame))
            case Call():
                back = self._call(block, step, states, run)
                for handler in block.raises:
                    yield handler, back.raised
                after = back.normal
            case Exit(kind):
                run.summary.exits.setdefault(kind, {}).update(dict.fromkeys(states))
                return
            case _:
                after = self._happen(block, states, run)
        for following in block.next:
            yield following, after

    def _failures(self, block: Block, states: list[PathState], run: Run) -> Ways:
        """Where states go when a step fails, other than by an explicit `raise`."""
        return iter(())

    def _sides(self, block: Block) -> list[Block]:
        """Where a condition leads: when it is true, and when it is false."""
        return block.next

    def _join(self, join: Join, states: list[PathState], frame: Frame) -> Iterable[PathState]:
        constant, ask = self._conditions.constant, join.ask
        if ask is None:
            return without_both(states, constant)
        if ask.branch is not None:
            branch = frame.prefix, ask.branch
            states = [state.with_protocol(state.protocol.asked(branch)) for state in states]
        asked = sorted(map(frame.key, keys_of(ask.condition)))
        return without_both(states, {key: constant[key] for key in asked if key in constant})

    def _ask(self, block: Block, ask: Ask, states: list[PathState], run: Run) -> Ways:
        activation, frame = run.activation, run.activation.at(block)
        shared = frame.prefix

        def remembers(key: str) -> bool:
            # What a caller asks for later, nobody knows here.
            return key in activation.asked_after(block) or bool(shared) and shared not in key

        branch = (shared, ask.branch) if ask.branch is not None else None
        whole = ask.jump in ("continue", "break") or (ask.jump == "return" and not (frame.depth or frame.loops))
        asking = Asking(remembers, ask.away, branch, frame.loops if whole else None, ask.jump == "break")
        taken: dict[bool, States] = {True: {}, False: {}}
        for state in states:
            for after, truth in self._conditions.decide(ask.condition, state, frame, asking):
                taken[truth][after] = None
        for truth, following in zip((True, False), self._sides(block)):
            yield following, taken[truth]

    def _happen(self, block: Block, states: list[PathState], run: Run) -> list[PathState]:
        """The states after the event of a block."""
        return self._apply(run.activation.event(block), states, run.activation.at(block), run.summary)

    def _apply(self, event: Event, states: list[PathState], frame: Frame, summary: Summary) -> list[PathState]:
        after: list[PathState] = []
        keep = isinstance(event, Assign) and event.tells_truth
        for state in states:
            left, hazards = self._protocol.apply(state, event, frame.loops)
            summary.add(hazards)
            after.append(forget_tests(left, event.target, keep) if isinstance(event, (Assign, Scale)) else left)
        return after

    # -- calls -------------------------------------------------------------------------------------------------------

    def _callee(self, call: Call, frame: Frame) -> Function | None:
        """The function that a call enters; None where it is not followed."""
        return self._flows.function(call.function) if frame.depth < MAX_DEPTH else None

    def _call(self, block: Block, call: Call, states: list[PathState], run: Run) -> Returned:
        frame = run.activation.at(block)
        function = self._callee(call, frame)
        if function is None:
            return Returned(dict.fromkeys(states))
        entered = self._entered(block, call, function, run)
        keys = ((entered.frame.key(key_of(name)), truth) for name, truth in call.truths)
        given = {key: Truth(truth) for key, truth in keys if key in entered.concern.asked}
        target = frame.ref(call.target) if call.target else ""
        back = Returned()
        for state in states:
            inside, beside = entered.concern.split(state)
            found = self._summary(entered, inside.knowing(truths=inside.facts.truths.put_all(given)))
            shown = entered.frame.at < 0
            run.summary.add(each.called_at(call.site, call.function) if shown else each for each in found.hazards)
            for kind, exits in found.exits.items():
                for left in exits:
                    after = returned(left, beside, entered.frame.prefix, target)
                    (back.raised if kind == "raise" else back.normal)[after] = None
        if not block.raises:
            run.end_by_raising(back.raised)
        return back

    def _mark(self, function: Function, frame: Frame) -> str:
        """What tells the names of a call from others; empty for a number."""
        return ""

    def _entered(self, block: Block, call: Call, function: Function, run: Run) -> Activation:
        """How the call of a block enters a function."""
        frame, callees = run.activation.at(block), run.activation.callees
        mark = self._mark(function, frame)
        if mark or block.number not in callees:
            watched = bool(block.raises) or (block.fails and run.activation.watched)
            callees[block.number] = self._activation(frame.entering(function, call, mark), watched)
        return callees[block.number]

    def _activation(self, below: Frame, watched: bool) -> Activation:
        """How a frame is entered; the same for all calls that hand over the same."""
        function = below.function
        effects = self._flows.of(function)
        conditions = tuple(each for each in below.conditions if key_of(each[0]) in effects.asked)
        handed = tuple((name, caller.told(condition)) for name, condition, caller in conditions)
        nest = below.around.prefix if below.around is not None else ""
        key = (function.key, below.binding, below.loops, below.at, handed, below.depth, below.prefix, watched, nest)
        if key not in self._activations:
            prefix = below.prefix or f"#{len(self._activations)}/"
            below = changed(below, prefix=prefix, calls=(), conditions=conditions)
            liveness = self._liveness(function, called=True)
            asked = {*below.needs(liveness.at_start), *(name for _, each in handed for name in keys_of(each))}
            concern = Concern(frozenset(asked), frozenset(map(below.ref, effects.assigned)))
            self._activations[key] = Activation(below, self._flows.graph(function), liveness, concern, watched)
        return self._activations[key]
