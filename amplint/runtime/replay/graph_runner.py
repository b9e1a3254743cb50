"""One path through an event graph, walked event by event.

The conditions are answered by `Decisions`; the protocol watches, so that a path is known to show a hazard; a `World`
makes the events happen. A loop that steps an optimizer runs until there were enough steps, any other one twice; a function
without such a loop is called again and again, as its caller would do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from amplint.hazards.entry_points import Entry
from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import (
    Both,
    Branch,
    Call,
    Condition,
    Function,
    Jump,
    Loop,
    Node,
    Not,
    Scoped,
    Seq,
    Test,
    Try,
)
from amplint.model.events import Assign, AutocastEnter, AutocastExit, Event, OptimizerStep, Scale, ScalerStep
from amplint.model.exploration.branch_decisions import next_iteration
from amplint.model.exploration.call_references import Frame
from amplint.model.exploration.effects import MAX_DEPTH
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.state import PathState, ProtocolState
from amplint.model.protocol.transitions import Protocol
from amplint.model.references import condition_key, key_of
from amplint.runtime.replay.branch_choices import Decisions
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


@dataclass
class Walk:
    """A walk from an entry; `hazards` are what the protocol has seen on the way, `events` what has happened.

    `prelude` happens before each call of the function: what its caller is known to do.
    """

    entry: Entry
    decisions: Decisions
    world: World
    prelude: tuple[Event, ...] = ()
    rounds: Rounds = field(default_factory=Rounds)
    hazards: dict[Hazard, None] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._protocol = Protocol(self.entry.objects, self.entry.nothing_scales)
        self._always = {key_of(name) for name, facts in self.entry.objects.items() if facts.made}
        self._state = PathState()
        self._constants: dict[str, bool] = {}
        self._once: dict[str, tuple[bool, tuple[int, ...]]] = {}
        self._steps: dict[int, bool] = {}

    def run(self) -> None:
        """Walk until there were `ROUNDS` iterations.

        Raises:
            TooLong: there are no such many.
        """
        frame = Frame(self.entry.function)
        for _ in range(_MAX_TURNS):
            if self.rounds.coming >= ROUNDS:
                return
            self._once.clear()
            before = self.rounds.coming
            for event in self.prelude:
                self._happen(event, frame)
            self._node(self.entry.function.body, frame)
            if self.rounds.coming == before and not any(
                isinstance(event, (ScalerStep, OptimizerStep)) for event in self.events
            ):
                return

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _node(self, node: Node, frame: Frame) -> str:
        """Walk through a node; how it was left: "" or the kind of a jump."""
        match node:
            case Seq():
                return next((left for part in node.parts if (left := self._node(part, frame))), "")
            case Branch():
                return self._node(node.then if self._decide(node.condition, frame, _away(node)) else node.orelse, frame)
            case Loop():
                return self._loop(node, frame)
            case Scoped():
                self._happen(AutocastEnter(node.site, node.region), frame)
                with self.world.region(node.region):
                    left = self._node(node.body, frame)
                self._happen(AutocastExit(node.site), frame)
                return left
            case Try():
                return self._try(node, frame)
            case Jump():
                if node.kind == "return" and frame.depth:
                    carried, args = tuple(map(frame.ref, node.carried)), tuple(map(frame.ref, node.args))
                    self._happen(Assign(-1, f"{frame.prefix}return", carried, args, node.computes), frame)
                return node.kind
            case Call():
                return self._call(node, frame)
        self._happen(frame.event(node), frame)
        return ""

    def _happen(self, event: Event, frame: Frame) -> None:
        self.events.append(event)
        if len(self.events) > _MAX_EVENTS:
            raise TooLong
        self.rounds.on(event)
        self._state, hazards = self._protocol.apply(self._state, event, frame.loops)
        for hazard in hazards:
            self.hazards[hazard] = None
        if isinstance(event, (Assign, Scale)):
            self._forget(event.target)
        if isinstance(event, Assign) and event.truth is not None:
            self._constants[key_of(event.target)] = event.truth
        self.world.do(event)

    def _forget(self, target: str) -> None:
        """Conditions about a reference that gets a new value are open again."""
        self._constants = {
            key: truth for key, truth in self._constants.items() if target not in condition_key(key).mentioned
        }
        self._once = {key: asked for key, asked in self._once.items() if target not in condition_key(key).mentioned}

    def _loop(self, node: Loop, frame: Frame) -> str:
        below = replace(frame, loops=(*frame.loops, node.site))
        if node.over_objects:
            left = self._node(node.body, frame)
            return left if left in ("return", "raise") else ""
        trains = self._trains(node.body)
        began, turns = self.rounds.coming, 0
        while not self._is_enough(trains, nested=bool(frame.loops), turns=turns, done=self.rounds.coming - began):
            self._once = {key: asked for key, asked in self._once.items() if node.site not in asked[1]}
            for target in node.targets:
                self._renew(frame.ref(target))
            if node.condition is not None and not self._decide(node.condition, below, False):
                break
            turns += 1
            left = self._node(node.body, below)
            if left in ("return", "raise"):
                return left
            if left == "break":
                return ""
        return self._node(node.orelse, frame)

    def _is_enough(self, trains: bool, nested: bool, turns: int, done: int) -> bool:
        if not trains:
            return turns >= _OTHER_LOOPS
        over = turns >= _MAX_TURNS or self.rounds.coming >= ROUNDS or self.rounds.idle >= _MAX_IDLE
        return over or (nested and done >= _PER_LOOP)

    def _renew(self, target: str) -> None:
        self._state = next_iteration(self._state, -1, [target])
        self._forget(target)

    def _trains(self, node: Node, depth: int = 0) -> bool:
        """Whether an optimizer is stepped in a node, or in what it calls."""
        if id(node) not in self._steps:
            self._steps[id(node)] = False  # stands for a function that calls itself
            self._steps[id(node)] = any(
                isinstance(event, (ScalerStep, OptimizerStep))
                or (isinstance(event, Call) and depth < MAX_DEPTH and self._calls_training(event, depth))
                for event in events_in(node)
            )
        return self._steps[id(node)]

    def _calls_training(self, call: Call, depth: int) -> bool:
        function = self.entry.functions.get(call.function)
        return function is not None and self._trains(function.body, depth + 1)

    def _try(self, node: Try, frame: Frame) -> str:
        left = self._node(node.body, frame)
        if left == "raise" and node.handlers:
            left = self._node(node.handlers[0], frame)
        elif not left:
            left = self._node(node.orelse, frame)
        return self._node(node.final, frame) or left

    def _call(self, node: Call, frame: Frame) -> str:
        function = self.entry.functions.get(node.function)
        if function is None or frame.depth >= MAX_DEPTH:
            return ""
        # The name, not the site, so that a fix which moves the call changes no key.
        prefix = f"{frame.prefix}{bare(function)}/"
        below = frame.entering(function, node, prefix)
        result, target = f"{prefix}return", frame.ref(node.target)
        self._state = self._state.knowing(values=self._state.facts.values.put(result, None))
        self._constants |= {below.key(key_of(name)): truth for name, truth in node.truths}
        left = self._node(function.body, below)
        if target and self._state.facts.value(result) is not None:
            self._happen(Assign(node.site, target, (result,)), frame)
        self._constants = {key: truth for key, truth in self._constants.items() if prefix not in key}
        self._once = {key: asked for key, asked in self._once.items() if prefix not in key}
        return "raise" if left == "raise" else ""

    # -- conditions ------------------------------------------------------------------------------------------------

    def _decide(self, condition: Condition, frame: Frame, away: bool | None) -> bool:
        match condition:
            case Not():
                return not self._decide(condition.part, frame, None if away is None else not away)
            case Both():
                decided = (self._decide(part, frame, away) for part in condition.parts)
                return any(decided) if condition.any_of else all(decided)
        return self._test(condition, frame, away)

    def _test(self, test: Test, frame: Frame, away: bool | None) -> bool:
        if test.kind in ("true", "false"):
            return test.kind == "true"
        handed = frame.handed(test.key) if test.kind in ("config", "varying", "gate") else None
        if handed is not None:
            return self._decide(*handed, away)
        key = "mode" if test.kind == "mode" else frame.key(test.key)
        if frame.key(test.key) in self._always:
            return True
        if frame.key(test.key) in self._constants:
            return self._constants[frame.key(test.key)]
        if key in self._once:
            return self._once[key][0]
        if test.kind == "skipped":
            truth = self.world.has_skipped(replace(test, key=key, refs=frozenset(map(frame.ref, test.refs))))
        else:
            truth = self.decisions.decide(key, test, away)
        if test.kind == "mode":
            self._change(self._state.protocol.changed(mode=truth))
        elif test.kind != "config":
            self._once[key] = (truth, frame.loops)
        if test.kind in ("gate", "varying"):
            self._change(self._protocol.settle(self._state.protocol))
        elif test.kind == "skipped" and not truth:
            self._change(self._protocol.settle_updated(self._state.protocol))
        return truth

    def _change(self, protocol: ProtocolState) -> None:
        self._state = self._state.with_protocol(protocol)


def bare(function: Function) -> str:
    """The name of a function without its site."""
    return function.key.partition("@")[0]


def _away(node: Branch) -> bool | None:
    """The side of a branch that does nothing but leave, if only one does."""
    then, orelse = _leaves(node.then), _leaves(node.orelse)
    return None if then == orelse else then


def _leaves(node: Node) -> bool:
    if isinstance(node, Seq):
        return bool(node.parts) and _leaves(node.parts[-1])
    return isinstance(node, Jump) and node.kind in ("raise", "return", "break", "continue")
