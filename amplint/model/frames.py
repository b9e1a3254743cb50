"""Calls as the root function sees them: what the references in a called function mean, and what code may still ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from amplint.model.events import Assign, Backward, Clip, Event, InnerGrad, Report, Scale
from amplint.model.graph import (
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
    parts_of,
)
from amplint.model.state import whole_of

_QUOTED = re.compile("‹([^›]*)›")


@dataclass(frozen=True)
class Frame:
    """One call: what its references mean in the root function, and the keys of conditions still met after it."""

    function: Function
    binding: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    depth: int = 0
    loops: tuple[int, ...] = ()
    calls: tuple[tuple[int, str], ...] = ()
    """The calls that led here from the root function: where each stands, and the key of what it enters."""
    at: int = -1
    """The site of all that happens here, for an opaque function."""
    conditions: tuple[tuple[str, Condition, Frame], ...] = ()
    """The parameters that have the outcome of a condition, each with the frame of the caller that asks it."""

    def entering(self, function: Function, call: Call, prefix: str) -> Frame:
        """The frame of a call in this one; `prefix` tells its own references from those of other calls."""
        # A method that calls another one of the same object hands on what is known of its attributes.
        kept = [each for each in self.binding if "." in each[0]] if ("self", "self") in call.binding else []
        binding = (*kept, *((name, self.ref(value) if value else "") for name, value in call.binding))
        at = self.at if self.at >= 0 or not function.opaque else call.site
        calls = self.calls if at >= 0 else (*self.calls, (call.site, call.function))
        conditions = tuple((name, condition, self) for name, condition in call.conditions)
        return Frame(function, binding, prefix, self.depth + 1, self.loops, calls, at, conditions)

    def handed(self, key: str) -> tuple[Condition, Frame] | None:
        """The condition that a caller has handed over under a key, with the frame that it belongs to."""
        found = (each for each in self.conditions if key == f"‹{each[0]}›")
        return next(((condition, frame) for _, condition, frame in found), None)

    def ref(self, reference: str) -> str:
        """A reference of this frame as the root function would write it."""
        root, dot, rest = reference.partition(".")
        bare, bracket, index = root.partition("[")
        for name, meaning in self.binding:
            if name == bare:
                return meaning + bracket + index + dot + rest if meaning else ""
            if bare == "self" and "." in name and (reference == name or reference.startswith((f"{name}.", f"{name}["))):
                return meaning + reference[len(name) :]
        if bare in self.function.locals and self.prefix:
            return f"{self.prefix}{reference}"
        return reference

    def key(self, key: str) -> str:
        """The key of a condition, with its references as the root function would write them."""
        return _QUOTED.sub(lambda match: f"‹{self.ref(match.group(1)) or self.prefix + match.group(1)}›", key)

    def need(self, need: str) -> str:
        """A need (the key of a condition, or the reference of a value) as the root function would write it."""
        return self.key(need) if "‹" in need else self.ref(need)

    def event(self, event: Event) -> Event:
        """An event with the references of the root function."""
        if not self.binding and not self.prefix:
            return event
        changes: dict[str, object] = {}
        for name in _reference_fields(event):
            value = getattr(event, name)
            changes[name] = self.ref(value) if isinstance(value, str) else tuple(self.ref(item) for item in value)
        if self.at >= 0:
            changes["site"] = self.at
            if isinstance(event, Clip):
                changes["limit"] = ""  # spelled in a text that nobody sees
        return replace(event, **changes)  # type: ignore[arg-type]


_SPELLED = frozenset({"by", "limit"})
"""Texts in events that are no references."""


def _reference_fields(event: Event) -> list[str]:
    """The fields of an event that hold references: all texts but those that are spelled out."""
    texts = ("str", "tuple[str, ...]")
    return [field.name for field in fields(event) if field.type in texts and field.name not in _SPELLED]


def _mentioned(event: Event | Jump) -> Iterator[str]:
    """The values that an event looks at."""
    match event:
        case Backward():
            yield event.loss
        case Scale():
            yield event.source
        case Report():
            yield event.value
        case InnerGrad():
            yield event.outputs
        case Assign() | Jump():
            yield from event.carried
            yield from event.args


def _with_owners(reference: str) -> Iterator[str]:
    """`outputs.loss`, then `outputs`: a part of a value is known by the whole."""
    while reference:
        yield reference
        reference = whole_of(reference)


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
        self._enter(call.function)
        self._entered.add(call.function)
        frame, inner = Frame(function, call.binding, _INNER), self.of(function.body)
        outer = frozenset(name for need in inner if _INNER not in (name := frame.need(need)))
        handed = (self.of(condition) for name, condition in call.conditions if f"‹{name}›" in inner)
        self._entered.discard(call.function)
        return outer.union(*handed)

    def _enter(self, key: str) -> None:
        """Work out the needs of a function, of what it calls first: helpers call helpers deeper than Python nests calls."""
        path = [(key, iter([key]))]
        while path:
            current, calls = path[-1]
            following = next(calls, None)
            if following is None:
                path.pop()
                if path:
                    self.of(self._functions[current].body)
                    self._entered.discard(current)
            elif self._is_new(following):
                self._entered.add(following)
                path.append((following, _called(self._functions[following].body)))

    def _is_new(self, key: str) -> bool:
        function = self._functions.get(key)
        return function is not None and key not in self._entered and id(function.body) not in self._known


def _called(node: Node) -> Iterator[str]:
    """The functions that are called in a node, in order."""
    if isinstance(node, Call):
        yield node.function
    for part in parts_of(node):
        yield from _called(part)


_INNER = "¤"


@lru_cache(maxsize=4096)
def references(key: str) -> frozenset[str]:
    """The references in the key of a condition, and what they are parts of."""
    return frozenset(each for name in _QUOTED.findall(key) for each in _with_owners(name))
