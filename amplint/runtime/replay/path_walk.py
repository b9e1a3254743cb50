"""One path through a program, walked event by event.

The graphs are run as an exploration runs them, but with one state: the conditions are answered by `Decisions`, and a `World`
makes the events happen. The protocol watches, so that a path is known to show a hazard. A loop that steps an optimizer runs
until there were enough steps, any other one twice; a function without such a loop is called again and again, as its caller
would do.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace

from amplint.hazards.entry_points import Entry
from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import MOMENTS, Call, Function, Node, Test
from amplint.model.events import (
    Assign,
    AutocastEnter,
    AutocastExit,
    Event,
    Leave,
    OptimizerStep,
    ScalerStep,
    SchedulerStep,
)
from amplint.model.exploration.activations import Activation
from amplint.model.exploration.branch_decisions import Asking, Conditions
from amplint.model.exploration.call_references import MAX_DEPTH, RETURN, Frame
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.flow_graph import Block, Iterate, Join
from amplint.model.exploration.graph_runner import GraphRunner, Returned, Run
from amplint.model.exploration.summaries import Summary
from amplint.model.protocol.hazard import Hazard
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.references import key_of
from amplint.runtime.replay.branch_choices import Decisions
from amplint.runtime.replay.counted_conditions import Counts
from amplint.runtime.replay.event_world import World
from amplint.runtime.training.iterations import Rounds

ROUNDS = 6
"""Iterations of training that are replayed."""
_PER_LOOP = 3
"""Iterations of training in one run of a loop inside another one, so that the outer one gets its turn."""
_OTHER_LOOPS = 2
_MAX_TURNS = 100
_MAX_IDLE = 64
"""Backward passes without a step after which loops end: on this path nothing is stepped."""
_MAX_EVENTS = 5_000


class TooLong(Exception):
    """The path does not come to enough steps in reasonable time."""


class AnsweredConditions(Conditions):
    """Conditions that have one outcome: whether a step was skipped the world knows, counts are known, all others are answered."""

    def __init__(self, always: Collection[str], decisions: Decisions, world: World, counts: Counts) -> None:
        super().__init__(always)
        self._decisions, self._world, self._counts = decisions, world, counts

    def _known(self, test: Test, key: str, state: PathState) -> bool | None:
        constant = state.facts.truths.get(key)
        if constant is None:
            return super()._known(test, key, state)
        if test.kind in MOMENTS:  # whether it is the first iteration, which a loop that counts has said
            self._decisions.told.add(key)
        return constant.truth

    def _outcomes(self, test: Test, key: str, frame: Frame, asking: Asking) -> tuple[bool, ...]:
        if test.kind == "skipped":
            asked = replace(test, key=key, refs=frozenset(map(frame.ref, test.refs)))
            return (self._world.has_skipped(asked),)
        known = self._counts.truth(key)
        return (self._decisions.decide("mode" if test.kind == "mode" else key, test, asking.away, known),)

    def _remembers(self, test: Test, key: str, asking: Asking) -> bool:
        return not test.lasts


@dataclass
class _Turns:
    """How often a loop has gone round, and the iteration of training in which it began."""

    began: int
    count: int = 0


class Walk(GraphRunner):
    """A walk from an entry; `events` are what has happened on the way.

    Args:
        entry: the function that is run, with those that it calls.
        decisions: how each condition on the way is answered.
        world: what the events do.
        prelude: what happens before each call of the function: what its caller is known to do.
        rounds: counts the iterations of each optimizer; new ones by default.
    """

    def __init__(
        self,
        entry: Entry,
        decisions: Decisions,
        world: World,
        prelude: tuple[Event, ...] = (),
        rounds: Rounds | None = None,
    ) -> None:
        protocol = Protocol(entry.objects, entry.nothing_scales, entry.nobody_unscales)
        always = {key_of(name) for name, facts in entry.objects.items() if facts.made}
        flows = entry.flows or Flows(entry.functions)
        self._counts = Counts()
        super().__init__(flows, protocol, AnsweredConditions(always, decisions, world, self._counts))
        self.entry, self.decisions, self.world = entry, decisions, world
        self.prelude, self.rounds = prelude, rounds or Rounds()
        self.events: list[Event] = []
        self.schedules_of_steps = set[int]()
        """The sites at which schedules advance in the very loop in which the step before was taken."""
        self._step_loops: tuple[int, ...] | None = None
        self._regions: list[ExitStack] = []
        self._trains: dict[int, bool] = {}
        self._seen = Summary()

    @property
    def hazards(self) -> Collection[Hazard]:
        """What the protocol has seen on the way."""
        return self._seen.hazards

    def run(self) -> None:
        """Walk until there were `ROUNDS` iterations.

        Raises:
            TooLong: there are no such many.
        """
        root, state = self._root(self.entry.function), PathState()
        try:
            for _ in range(_MAX_TURNS):
                if self.rounds.coming >= ROUNDS:
                    return
                before, told = self.rounds.coming, len(self.events)
                state = self._call_root(root, state)
                goes_on = any(map(_is_step, self.events)) or (not told and any(map(_ends_round, self.events)))
                if self.rounds.coming == before and not goes_on:
                    return
        finally:
            while self._regions:
                self._regions.pop().close()

    def _call_root(self, root: Activation, state: PathState) -> PathState:
        """Call the root function once, as its caller would."""
        truths = state.facts.truths
        state = state.knowing(truths=truths.without([key for key, each in truths.items() if each.loops is not None]))
        for event in self.prelude:
            self._tell(event)
            (state,) = self._apply(event, [state], root.frame, self._seen)
        summary = self._summary(root, state)
        self._seen.add(summary.hazards)
        return next((after for each in summary.exits.values() for after in each), state)

    def _summary(self, activation: Activation, state: PathState) -> Summary:
        """Walk through a function."""
        run, states = Run(activation, state, Summary()), [state]
        block, turns = activation.graph.blocks[0], dict[Block, _Turns]()
        again = False
        while states:
            over = isinstance(block.step, Iterate) and self._is_over(block, block.step, turns, again, run)
            if over and block.exhausted is not None:
                block, again = block.exhausted, False
                continue
            ways = [(following, list(after)) for following, after in self._step(block, states, run)]
            again = isinstance(block.step, Join) and block.step.ask is None
            block, states = next(((following, after) for following, after in ways if after), (block, []))
        return run.summary

    def _sides(self, block: Block) -> list[Block]:
        return [*block.next, block.exhausted] if block.exhausted is not None else block.next

    # -- events ----------------------------------------------------------------------------------------------------

    def _happen(self, block: Block, states: list[PathState], run: Run) -> list[PathState]:
        event, loops = run.activation.event(block), run.activation.at(block).loops
        self._tell(event)
        if _is_step(event):
            self._step_loops = loops
        elif isinstance(event, SchedulerStep) and loops == self._step_loops:
            self.schedules_of_steps.add(event.site)
        return super()._happen(block, states, run)

    def _tell(self, event: Event) -> None:
        """Make an event happen in the world."""
        self.events.append(event)
        if len(self.events) > _MAX_EVENTS:
            raise TooLong
        self.rounds.on(event)
        if isinstance(event, Assign):
            self._counts.on(event)
        if isinstance(event, AutocastExit):
            self._regions.pop().close()
        self.world.do(event)
        if isinstance(event, AutocastEnter):
            entered = ExitStack()
            entered.enter_context(self.world.region(event.region))
            self._regions.append(entered)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _is_over(self, head: Block, step: Iterate, turns: dict[Block, _Turns], again: bool, run: Run) -> bool:
        """Whether a loop has gone round often enough; `again` says that it has just done so."""
        if not again:
            turns[head] = _Turns(self.rounds.coming)
        turn = turns[head]
        if not self._steps_in(step.loop.body):
            over = turn.count >= _OTHER_LOOPS
        else:
            nested = len(run.activation.at(head).loops) > 1
            over = turn.count >= _MAX_TURNS or self.rounds.coming >= ROUNDS or self.rounds.idle >= _MAX_IDLE
            over = over or (nested and self.rounds.coming - turn.began >= _PER_LOOP)
        if not over:
            targets, first = [*map(run.activation.at(head).ref, step.loop.targets)], step.loop.counts_from
            self._counts.begins(targets, None if first is None else first + turn.count)
        turn.count += 1
        return over

    def _steps_in(self, node: Node, depth: int = 0) -> bool:
        """Whether an optimizer is stepped in a node, or in what it calls."""
        if id(node) not in self._trains:
            self._trains[id(node)] = False  # stands for a function that calls itself
            self._trains[id(node)] = any(
                _is_step(event) or (isinstance(event, Call) and depth < MAX_DEPTH and self._calls_step(event, depth))
                for event in events_in(node)
            )
        return self._trains[id(node)]

    def _calls_step(self, call: Call, depth: int) -> bool:
        function = self._flows.function(call.function)
        return function is not None and self._steps_in(function.body, depth + 1)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _mark(self, function: Function, frame: Frame) -> str:
        """The name, not a number, so that a fix which moves the call changes no key."""
        return f"{frame.prefix}{bare(function)}/"

    def _call(self, block: Block, call: Call, states: list[PathState], run: Run) -> Returned:
        frame, inside = run.activation.at(block), len(self._regions)
        back = super()._call(block, call, states, run)
        function, target = self._callee(call, frame), frame.ref(call.target)
        if function is not None and target and any(target in state.facts.values.keys() for state in back.normal):
            self._tell(Assign(call.site, target, (f"{self._mark(function, frame)}{RETURN}",)))
        left = inside if block.raises else len(run.entry.protocol.regions)
        for _ in self._regions[left:] if back.raised else ():
            self._tell(AutocastExit(call.site))
        return back


def bare(function: Function) -> str:
    """The name of a function without its site."""
    return function.key.partition("@")[0]


def _is_step(event: object) -> bool:
    return isinstance(event, (ScalerStep, OptimizerStep))


def _ends_round(event: object) -> bool:
    """Whether a function that is an iteration is left early: its caller calls it again, although it stepped nothing."""
    return isinstance(event, Leave) and event.last
