"""Runs the protocol over every feasible path of a function graph.

All states that can hold at a point are carried along together, and equal ones merge. A condition that is met again takes
the same side, unless a reference in it was assigned in between. What a later condition cannot see any more is forgotten,
so that independent branches do not multiply. At the bound the whole function is given up, in silence: no guess is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from amplint.model.events import (
    Assign, Backward, Both, Branch, Call, Condition, Event, Function, Jump, Loop, Node, Not, ObjectFacts, Scale, Scoped, Seq,
    Test, Try,
)  # fmt: skip
from amplint.model.protocol import Entered, Hazard, Protocol, State

MAX_STATES = 400
MAX_WORK = 40_000
MAX_DEPTH = 6
MAX_ROUNDS = 8

States = dict[State, None]
"""An ordered set, so that results do not depend on the hash seed."""

_QUOTED = re.compile("‹([^›]*)›")


@lru_cache(maxsize=4096)
def _references(key: str) -> frozenset[str]:
    """The references in the key of a condition, and what they are parts of."""
    return frozenset(each for name in _QUOTED.findall(key) for each in _with_owners(name))


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


@dataclass(frozen=True)
class Frame:
    """One call: what its references mean in the root function, and the keys of conditions still met after it."""

    function: Function
    binding: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    depth: int = 0
    loops: tuple[int, ...] = ()

    def ref(self, reference: str) -> str:
        """A reference of this frame as the root function would write it."""
        root, dot, rest = reference.partition(".")
        bare, bracket, index = root.partition("[")
        for name, meaning in self.binding:
            if name == bare:
                return meaning + bracket + index + dot + rest if meaning else ""
        if bare in self.function.locals and self.prefix:
            return f"{self.prefix}{reference}"
        return reference

    def key(self, key: str) -> str:
        """The key of a condition, with its references as the root function would write them."""
        return _QUOTED.sub(lambda match: f"‹{self.ref(match.group(1))}›", key)

    def need(self, need: str) -> str:
        """A need (the key of a condition, or the reference of a value) as the root function would write it."""
        return self.key(need) if "‹" in need else self.ref(need)

    def event(self, event: Event) -> Event:
        """An event with the references of the root function."""
        if not self.binding and not self.prefix:
            return event
        changes: dict[str, object] = {}
        for name in _reference_fields(type(event)):
            value = getattr(event, name)
            changes[name] = self.ref(value) if isinstance(value, str) else tuple(self.ref(item) for item in value)
        return replace(event, **changes)  # type: ignore[arg-type]


_NOT_REFERENCES = frozenset({"site", "by", "limit", "computes", "truth", "closure", "writes"})


@lru_cache(maxsize=None)
def _reference_fields(kind: type[Event]) -> tuple[str, ...]:
    return tuple(name for name in kind.__dataclass_fields__ if name not in _NOT_REFERENCES)


def _mentioned(event: Event | Jump) -> Iterator[str]:
    """The values that an event looks at."""
    match event:
        case Backward():
            yield event.loss
        case Scale():
            yield event.source
        case Assign() | Jump():
            yield from event.carried
            yield from event.args


def _with_owners(reference: str) -> Iterator[str]:
    """`outputs.loss`, then `outputs`: a part of a value is known by the whole."""
    while reference:
        yield reference
        reference = reference.rpartition(".")[0]


class Needs:
    """What the code that is still to come may ask of a state: keys of conditions, and references of values.

    Whatever is not needed is forgotten, so that states which differ in nothing that matters become equal.
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        # By identity: hashing a node by value would walk it again each time. The graphs outlive this object.
        self._known: dict[int, frozenset[str]] = {}
        self._entered: set[str] = set()

    def of(self, node: Node | Condition | None) -> frozenset[str]:
        """The needs of a node, in the references of its own function."""
        if node is None:
            return frozenset()
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._work_out(node)
        return found

    def _work_out(self, node: Node | Condition) -> frozenset[str]:
        match node:
            case Test():
                return frozenset({node.key})
            case Not():
                return self.of(node.part)
            case Both() | Seq():
                return frozenset().union(*map(self.of, node.parts))
            case Branch():
                return self.of(node.condition) | self.of(node.then) | self.of(node.orelse)
            case Loop():
                return self.of(node.condition) | self.of(node.body) | self.of(node.orelse)
            case Scoped():
                return self.of(node.body)
            case Try():
                return frozenset().union(*map(self.of, (node.body, *node.handlers, node.orelse, node.final)))
            case Call():
                return self._of_call(node)
        return frozenset(each for name in _mentioned(node) for each in _with_owners(name))

    def _of_call(self, call: Call) -> frozenset[str]:
        function = self._functions.get(call.function)
        if function is None or call.function in self._entered:
            return frozenset()
        self._entered.add(call.function)
        frame = Frame(function, call.binding, _INNER)
        outer = frozenset(name for need in self.of(function.body) if _INNER not in (name := frame.need(need)))
        self._entered.discard(call.function)
        return outer


_INNER = "¤"


class Explorer:
    """Explores one root function; `functions` are the graphs that calls in it may enter.

    `hazards` holds what was found, in order; it is empty when the bound was met (`gave_up`).
    """

    def __init__(
        self, functions: Mapping[str, Function], objects: Mapping[str, ObjectFacts], nothing_scales: bool = False
    ) -> None:
        self._functions = functions
        self._protocol = Protocol(objects, nothing_scales)
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
            self._node(root.body, {start or State(): None}, Frame(root), frozenset())
        except GiveUp:
            self.gave_up = True
            self.hazards.clear()

    def _keys(self, node: Node, frame: Frame) -> frozenset[str]:
        """The needs of a node, as the root function would write them."""
        found = self._needs.of(node)
        if not found or (not frame.binding and not frame.prefix):
            return found
        place = (id(node), frame.prefix)
        if place not in self._outer_needs:
            self._outer_needs[place] = frozenset(map(frame.need, found))
        return self._outer_needs[place]

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _node(self, node: Node, states: States, frame: Frame, live: frozenset[str]) -> Ends:
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
            self.events.add(self._translated[place])
        event = self._translated[place]
        after: States = {}
        for state in states:
            state, hazards = self._protocol.apply(state, event, frame.loops)
            for hazard in hazards:
                self.hazards[replace(hazard, root=frame.function.key, inlined=frame.depth > 0)] = None
            if isinstance(event, (Assign, Scale)):
                state = self._forget_tests(state, event.target, keep=isinstance(event, Assign) and event.truth is not None)
            after[state] = None
        return Ends(after)

    def _forget_tests(self, state: State, target: str, keep: bool = False) -> State:
        changed = {}
        for slot, _ in state.having("test") + state.having("once"):
            if not (keep and slot[1] == f"‹{target}›") and target in _references(slot[1]):
                changed[slot] = None
        return state.put(changed) if changed else state

    def _seq(self, node: Seq, states: States, frame: Frame, live: frozenset[str]) -> Ends:
        ends = Ends()
        after = [live]
        for part in reversed(node.parts[1:]):
            after.append(after[-1] | self._keys(part, frame))
        for part, later in zip(node.parts, reversed(after)):
            inner = self._node(part, states, frame, later)
            ends.add(inner)
            states = self._only_live(inner.normal, later)
        ends.normal = states
        return ends

    @staticmethod
    def _only_live(states: States, live: frozenset[str]) -> States:
        after: States = {}
        for state in states:
            filled = state.having("test") + state.having("once") + state.having("value")
            dead = {slot: None for slot, _ in filled if slot[1] not in live}
            after[state.put(dead) if dead else state] = None
        return after

    def _branch(self, node: Branch, states: States, frame: Frame, live: frozenset[str]) -> Ends:
        inside = live | self._keys(node, frame)
        taken: dict[bool, States] = {True: {}, False: {}}
        for state in states:
            for after, truth in self._decide(node.condition, state, frame, inside):
                taken[truth][after] = None
        ends = Ends()
        for truth, body in ((True, node.then), (False, node.orelse)):
            inner = self._node(body, taken[truth], frame, live)
            ends.normal.update(inner.normal)
            ends.add(inner)
        return ends

    def _loop(self, node: Loop, states: States, frame: Frame, live: frozenset[str]) -> Ends:
        if node.over_objects:
            inner = self._node(node.body, states, frame, live)
            left = {**inner.normal, **inner.jumps.get("continue", {}), **inner.jumps.get("break", {})}
            ends = Ends(left)
            ends.add(inner, but=("continue", "break"))
            return ends
        inside = live | self._keys(node, frame)
        below = replace(frame, loops=(*frame.loops, node.site))
        ends, seen, fresh = Ends(), dict(states), dict(states)
        # A `for` loop over nothing is no path worth a finding; a `while` may well not be entered.
        exhausted: States = {} if node.condition is None or _is_true(node.condition) else dict(states)
        for _ in range(MAX_ROUNDS):
            if not fresh:
                break
            entering = self._loop_entry(node, fresh, frame, inside)
            inner = self._node(node.body, entering, below, inside)
            ends.add(inner, but=("continue", "break"))
            ends.normal.update(inner.jumps.get("break", {}))
            again = {**inner.normal, **inner.jumps.get("continue", {})}
            if not _is_true(node.condition):
                exhausted.update(again)
            fresh = {state: None for state in again if state not in seen}
            seen.update(fresh)
        after = self._node(node.orelse, exhausted, frame, live)
        ends.add(after)
        ends.normal.update(after.normal)
        return ends

    def _loop_entry(self, node: Loop, states: States, frame: Frame, live: frozenset[str]) -> States:
        entering: States = {}
        for state in states:
            state = state.put({slot: None for slot, _ in state.having("once")})
            for target in node.targets:
                state = self._renew(state, frame.ref(target))
            if node.condition is None:
                entering[state] = None
            else:
                for after, truth in self._decide(node.condition, state, frame, live):
                    if truth:
                        entering[after] = None
        return entering

    def _renew(self, state: State, target: str) -> State:
        """The state when a loop's target takes its next value: elements that it indexes are other objects now."""
        index = f"[{target}]"
        others = {slot: None for slot, _ in state.having("grad") + state.having("stage") if any(index in part for part in slot)}
        return self._forget_tests(state.put({**others, ("value", target): None}), target)

    def _scoped(self, node: Scoped, states: States, frame: Frame, live: frozenset[str]) -> Ends:
        def enter(state: State) -> State:
            return state.put({("regions",): (*state.regions, Entered(node.region, node.site, len(frame.loops)))})

        def leave(state: State) -> State:
            return state.put({("regions",): state.regions[:-1] or None})

        inner = self._node(node.body, {enter(state): None for state in states}, frame, live)
        return Ends(
            {leave(state): None for state in inner.normal},
            {kind: {leave(state): None for state in ended} for kind, ended in inner.jumps.items()},
        )

    def _try(self, node: Try, states: States, frame: Frame, live: frozenset[str]) -> Ends:
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
        event = Assign(-1, f"{frame.prefix}return", node.carried, node.args, node.computes)
        return self._protocol.apply(state, replace(frame.event(event), target=f"{frame.prefix}return"))[0]

    def _call(self, node: Call, states: States, frame: Frame, live: frozenset[str]) -> Ends:
        function = self._functions.get(node.function)
        if function is None or frame.depth >= MAX_DEPTH:
            return Ends(states)
        prefix = f"{frame.prefix}{node.site}/"
        binding = tuple((name, frame.ref(value) if value else "") for name, value in node.binding)
        below = Frame(function, binding, prefix, frame.depth + 1, frame.loops)
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

    # -- conditions ------------------------------------------------------------------------------------------------

    def _decide(
        self, condition: Condition, state: State, frame: Frame, live: frozenset[str]
    ) -> list[tuple[State, bool]]:
        match condition:
            case Not():
                return [(after, not truth) for after, truth in self._decide(condition.part, state, frame, live)]
            case Both():
                return self._decide_both(condition, state, frame, live)
        return self._decide_test(condition, state, frame, live)

    def _decide_both(
        self, condition: Both, state: State, frame: Frame, live: frozenset[str]
    ) -> list[tuple[State, bool]]:
        done: list[tuple[State, bool]] = []
        open_ = [state]
        for part in condition.parts:
            outcomes = [outcome for before in open_ for outcome in self._decide(part, before, frame, live)]
            done += [(after, truth) for after, truth in outcomes if truth == condition.any_of]
            open_ = [after for after, truth in outcomes if truth != condition.any_of]
        return done + [(after, not condition.any_of) for after in open_]

    def _decide_test(self, test: Test, state: State, frame: Frame, live: frozenset[str]) -> list[tuple[State, bool]]:
        if test.kind in ("true", "false"):
            return [(state, test.kind == "true")]
        key = frame.key(test.key)
        slot = self._slot(test.kind, key, state)
        known = state.get(*slot)
        if isinstance(known, bool):
            return [(state, known)]
        remembered = test.kind == "mode" or key in live
        outcomes = []
        for truth in (True, False):
            after = state.put({slot: truth}) if remembered else state
            if test.kind in ("gate", "varying") or (test.kind == "skipped" and not truth and not self._protocol.has_pending_step(state)):
                after = self._protocol.settle(after)
            outcomes.append((after, truth))
        return outcomes

    @staticmethod
    def _slot(kind: str, key: str, state: State) -> tuple[str, ...]:
        if kind == "mode":
            return ("mode",)
        # A constant assigned before ("x = None") is filed as a test, whatever kind the later condition is.
        constant = ("test", key)
        return constant if kind == "config" or state.get(*constant) is not None else ("once", key)


def _is_true(condition: Condition | None) -> bool:
    return isinstance(condition, Test) and condition.kind == "true"


