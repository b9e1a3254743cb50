"""Runs the protocol over every feasible path of a function graph.

All states that can hold at a point are carried along together, and equal ones merge. A condition that is met again takes
the same side, unless a reference in it was assigned in between. What a later condition cannot see any more is forgotten,
and so is a condition whose two sides came to the same, so that independent branches do not multiply. At the bound the whole
function is given up, in silence: no guess is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from amplint.model.deciding import Conditions
from amplint.model.elements import updates_between
from amplint.model.events import Assign, Event, ObjectFacts, Scale
from amplint.model.forgetting import Live, States, forget_tests, merged, only_live, renew
from amplint.model.frames import Frame, Needs
from amplint.model.graph import Branch, Call, Condition, Function, Jump, Loop, Node, Scoped, Seq, Test, Try
from amplint.model.hazards import Hazard
from amplint.model.protocol import Protocol
from amplint.model.state import Entered, Once, State

MAX_STATES = 400
MAX_WORK = 40_000
MAX_DEPTH = 6
MAX_ROUNDS = 8


class GiveUp(Exception):
    """The bound is met."""


@dataclass
class Ends:
    """Where a piece of code may lead, and with which states."""

    normal: States = field(default_factory=dict)
    jumps: dict[str, States] = field(default_factory=dict)

    def add(self, other: Ends, *, but: Iterable[str] = ()) -> None:
        """Take over the jumps of a part, but for some kinds."""
        for kind, states in other.jumps.items():
            if kind not in but:
                self.jumps.setdefault(kind, {}).update(states)


class Explorer:
    """Explores one root function; `functions` are the graphs that calls in it may enter.

    `hazards` holds what was found, in order; it is empty when the bound was met (`gave_up`).
    """

    def __init__(
        self, functions: Mapping[str, Function], objects: Mapping[str, ObjectFacts], nothing_scales: bool = False
    ) -> None:
        self._functions = functions
        self._protocol = Protocol(objects, nothing_scales)
        self._conditions = Conditions(self._protocol, {f"‹{name}›" for name, facts in objects.items() if facts.made})
        self._work = 0
        self._needs = Needs(functions)
        self._outer_needs: dict[tuple[int, str], frozenset[str]] = {}
        self._translated: dict[tuple[int, str], Event] = {}
        self.hazards: dict[Hazard, None] = {}
        self.events: set[Event] = set()
        self.gave_up = False

    def run(self, root: Function, start: State | None = None) -> None:
        """Explore every path of `root` from a state in which nothing is known."""
        try:
            self._node(root.body, {start or State(): None}, Frame(root), Live())
        except GiveUp:
            self.gave_up = True
            self.hazards.clear()

    def _keys(self, node: Node | Condition, frame: Frame) -> frozenset[str]:
        """The needs of a node, as the root function would write them."""
        found = self._needs.of(node)
        if not found or (not frame.binding and not frame.prefix):
            return found
        place = (id(node), frame.prefix)
        if place not in self._outer_needs:
            handed = [(need, frame.handed(need)) for need in found]
            kept = (self._keys(*each) if each is not None else {frame.need(need)} for need, each in handed)
            self._outer_needs[place] = frozenset().union(*kept)
        return self._outer_needs[place]

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _node(self, node: Node, states: States, frame: Frame, live: Live) -> Ends:
        if not states:
            return Ends()
        self._work += len(states)
        if len(states) > MAX_STATES or self._work > MAX_WORK:
            raise GiveUp
        match node:
            case Seq():
                return self._seq(node, states, frame, live)
            case Branch():
                return self._branch(node, states, frame, live)
            case Loop():
                return self._loop(node, states, frame, live)
            case Scoped():
                return self._scoped(node, states, frame, live)
            case Try():
                return self._try(node, states, frame, live)
            case Jump():
                return Ends({}, {node.kind: {self._returned(node, state, frame): None for state in states}})
            case Call():
                return self._call(node, states, frame, live)
        return self._event(node, states, frame)

    def _event(self, event: Event, states: States, frame: Frame) -> Ends:
        place = (id(event), frame.prefix)
        if place not in self._translated:
            self._translated[place] = frame.event(event)
            if frame.at < 0:
                self.events.add(self._translated[place])
        event = self._translated[place]
        after: States = {}
        for state in states:
            state, hazards = self._protocol.apply(state, event, frame.loops)
            for hazard in hazards:
                self._note(hazard, frame)
            if isinstance(event, (Assign, Scale)):
                state = forget_tests(state, event.target, keep=isinstance(event, Assign) and event.truth is not None)
            after[state] = None
        return Ends(after)

    def _note(self, hazard: Hazard, frame: Frame) -> None:
        self.hazards[replace(hazard, root=frame.function.key, calls=frame.calls)] = None

    def _seq(self, node: Seq, states: States, frame: Frame, live: Live) -> Ends:
        ends = Ends()
        after = [live]
        for part in reversed(node.parts[1:]):
            after.append(after[-1] | self._keys(part, frame))
        for part, later in zip(node.parts, reversed(after)):
            inner = self._node(part, states, frame, later)
            ends.add(inner)
            states = only_live(inner.normal, later, frame.loops)
        ends.normal = states
        return ends

    def _branch(self, node: Branch, states: States, frame: Frame, live: Live) -> Ends:
        inside = live | self._keys(node, frame)
        taken: dict[bool, States] = {True: {}, False: {}}
        for state in states:
            for after, truth in self._conditions.decide(node.condition, state, frame, inside):
                taken[truth][after] = None
        ends = Ends()
        for truth, body in ((True, node.then), (False, node.orelse)):
            inner = self._node(body, taken[truth], frame, live)
            ends.normal.update(inner.normal)
            ends.add(inner)
        ends.normal = merged(ends.normal, sorted(self._keys(node.condition, frame)), self._conditions.constant)
        return ends

    def _loop(self, node: Loop, states: States, frame: Frame, live: Live) -> Ends:
        if node.over_objects:
            for hazard in updates_between(self._protocol, node, states, frame):
                self._note(hazard, frame)
            inner = self._node(node.body, states, frame, live)
            left = {**inner.normal, **inner.jumps.get("continue", {}), **inner.jumps.get("break", {})}
            ends = Ends(left)
            ends.add(inner, but=("continue", "break"))
            return ends
        needs = self._keys(node, frame)
        below = replace(frame, loops=(*frame.loops, node.site))
        ends, seen, fresh = Ends(), dict(states), dict(states)
        # A `for` loop over nothing is no path worth a finding; a `while` may well not be entered.
        exhausted: States = {} if node.condition is None or _is_true(node.condition) else dict(states)
        for _ in range(MAX_ROUNDS):
            if not fresh:
                break
            entering = self._loop_entry(node, fresh, frame, live | needs)
            inner = self._node(node.body, entering, below, live.again(needs))
            ends.add(inner, but=("continue", "break"))
            ends.normal.update(inner.jumps.get("break", {}))
            constant = self._conditions.constant
            again = merged({**inner.normal, **inner.jumps.get("continue", {})}, constant, constant)
            if not _is_true(node.condition):
                exhausted.update(again)
            fresh = {state: None for state in again if state not in seen}
            seen.update(fresh)
        after = self._node(node.orelse, exhausted, frame, live)
        ends.add(after)
        ends.normal.update(after.normal)
        return ends

    def _loop_entry(self, node: Loop, states: States, frame: Frame, live: Live) -> States:
        entering: States = {}
        for state in states:
            state = state.put(
                {
                    slot: None
                    for slot, asked in state.having("once")
                    if isinstance(asked, Once) and node.site in asked.loops
                }
            )
            for target in node.targets:
                state = renew(state, frame.ref(target))
            if node.condition is None:
                entering[state] = None
            else:
                for after, truth in self._conditions.decide(node.condition, state, frame, live):
                    if truth:
                        entering[after] = None
        return entering

    def _scoped(self, node: Scoped, states: States, frame: Frame, live: Live) -> Ends:
        def enter(state: State) -> State:
            return state.put({("regions",): (*state.regions, Entered(node.region, node.site, len(frame.loops)))})

        def leave(state: State) -> State:
            return state.put({("regions",): state.regions[:-1] or None})

        inner = self._node(node.body, {enter(state): None for state in states}, frame, live)
        return Ends(
            {leave(state): None for state in inner.normal},
            {kind: {leave(state): None for state in ended} for kind, ended in inner.jumps.items()},
        )

    def _try(self, node: Try, states: States, frame: Frame, live: Live) -> Ends:
        outer, live = live, live | self._keys(node, frame)
        body = self._node(node.body, states, frame, live)
        caught = {**states, **body.normal, **body.jumps.pop("raise", {})}
        inner = Ends()
        inner.add(body)
        followed = self._node(node.orelse, body.normal, frame, live)
        inner.add(followed)
        inner.normal.update(followed.normal)
        for handler in node.handlers:
            handled = self._node(handler, caught, frame, live)
            inner.add(handled)
            inner.normal.update(handled.normal)
        if node.final == Seq():
            return inner
        ends = self._node(node.final, inner.normal, frame, outer)
        for kind, jumped in inner.jumps.items():
            final = self._node(node.final, jumped, frame, outer)
            ends.jumps.setdefault(kind, {}).update(final.normal)
            ends.add(final)
        return ends

    # -- calls -----------------------------------------------------------------------------------------------------

    def _returned(self, node: Jump, state: State, frame: Frame) -> State:
        if node.kind != "return" or frame.depth == 0:
            return state
        carried, args = tuple(map(frame.ref, node.carried)), tuple(map(frame.ref, node.args))
        event = Assign(-1, f"{frame.prefix}return", carried, args, node.computes)
        return self._protocol.apply(state, event)[0]

    def _call(self, node: Call, states: States, frame: Frame, live: Live) -> Ends:
        function = self._functions.get(node.function)
        if function is None or frame.depth >= MAX_DEPTH:
            return Ends(states)
        prefix = f"{frame.prefix}{node.site}/"
        below = frame.entering(function, node, prefix)
        truths: dict[tuple[str, ...], object] = {("test", below.key(f"‹{name}›")): truth for name, truth in node.truths}
        if truths:
            states = {state.put(truths): None for state in states}
        inner = self._node(function.body, states, below, live | self._keys(function.body, below))
        target, result = frame.ref(node.target), f"{prefix}return"
        after: States = {}
        for state in {**inner.normal, **inner.jumps.get("return", {})}:
            returned = state.value(result)
            if node.target:
                state = state.put({("value", target): returned})
            inner_slots = state.having("value") + state.having("test") + state.having("once")
            gone = {slot: None for slot, _ in inner_slots if prefix in slot[1]}
            after[state.put(gone)] = None
        ends = Ends(after)
        ends.add(inner, but=("return", "continue", "break"))
        return ends


def _is_true(condition: Condition | None) -> bool:
    return isinstance(condition, Test) and condition.kind == "true"
