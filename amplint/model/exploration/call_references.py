"""Calls as the root function sees them: what the references in a called function mean, and what code may still ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields
from functools import cached_property

from amplint.model.event_graph import Call, Condition, Function, Not, Test
from amplint.model.events import Clip, Event
from amplint.model.records import changed, frozen
from amplint.model.references import condition_key, is_key, key_of, reference

MAX_DEPTH = 6
"""Calls inside calls are followed so deep."""

RETURN = "return"
"""The reference that holds what a function returns, while it is left."""


@frozen
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
    around: Frame | None = None
    """The frame of the function in which this one is nested, if a call of it is under way."""

    def entering(self, function: Function, call: Call, prefix: str) -> Frame:
        """The frame of a call in this one.

        Args:
            function: what is called.
            call: the call.
            prefix: tells its own references from those of other calls.
        """
        # A method that calls another one of the same object hands on what is known of its attributes.
        kept = [each for each in self.binding if "." in each[0]] if ("self", "self") in call.binding else []
        binding = (*kept, *self._meanings(call))
        at = self.at if self.at >= 0 or not function.opaque else call.site
        calls = self.calls if at >= 0 else (*self.calls, (call.site, call.function))
        conditions = tuple((name, condition, self) for name, condition in call.conditions)
        around = next((each for each in self._nest() if function.around and each.function.key == function.around), None)
        return Frame(function, binding, prefix, self.depth + 1, self.loops, calls, at, conditions, around)

    def _nest(self) -> Iterator[Frame]:
        """This frame, and those of the functions around it."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.around

    def handed(self, key: str) -> tuple[Condition, Frame] | None:
        """The condition that a caller has handed over under a key, with the frame that it belongs to."""
        found = next(((condition, frame) for name, condition, frame in self.conditions if key == key_of(name)), None)
        if found is None and self.around is not None and self.function.locals.isdisjoint(condition_key(key).mentioned):
            return self.around.handed(key)
        return found

    def told(self, condition: Condition) -> Condition:
        """A condition as the root function would write it, with those that callers have handed over put in."""
        match condition:
            case Test():
                handed = self.handed(condition.key)
                return handed[1].told(handed[0]) if handed else self._told_test(condition)
            case Not():
                return Not(self.told(condition.part))
        return changed(condition, parts=tuple(map(self.told, condition.parts)))

    def _told_test(self, test: Test) -> Test:
        implied = tuple((self._told_test(each), truth) for each, truth in test.implies)
        return changed(test, key=self.key(test.key), implies=implied)

    def ref(self, name: str) -> str:
        """A reference of this frame as the root function would write it."""
        if "[" in name:
            name = self._picked(name)
        own = reference(name)
        for bound, meaning in self.binding:
            if bound == own.root:
                return meaning + own.rest if meaning else ""
            if name.startswith(bound) and reference(bound).includes(name):
                return meaning + name[len(bound) :]
        if self.prefix and (own.root in self.function.locals or own.root == RETURN or own.is_temporary):
            return f"{self.prefix}{name}"
        return self.around.ref(name) if self.around is not None else name

    def _meanings(self, call: Call) -> Iterator[tuple[str, str]]:
        """What a call in this frame binds, as the root function would write it."""
        for name, value in call.binding:
            if not name.startswith("["):
                yield name, self.ref(value) if value else ""
            elif value.startswith("["):
                yield name, value
            else:  # a key that this function was given itself, and hands on
                yield from ((name, meaning) for bound, meaning in self.binding if bound == f"[{value}]")

    def _picked(self, name: str) -> str:
        """A reference with the literals that the call gives in the place of parameters by which elements are picked."""
        for bound, meaning in self.binding:
            if bound.startswith("["):
                name = name.replace(bound, meaning)
        return name

    def key(self, key: str) -> str:
        """The key of a condition, with its references as the root function would write them."""
        if key not in self._keys:
            self._keys[key] = condition_key(key).renamed(lambda name: self.ref(name) or self.prefix + name)
        return self._keys[key]

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {}

    def need(self, need: str) -> str:
        """A need (the key of a condition, or the reference of a value) as the root function would write it."""
        if need not in self._needs:
            self._needs[need] = self.key(need) if is_key(need) else self.ref(need)
        return self._needs[need]

    def needs(self, needs: Collection[str]) -> Iterator[str]:
        """Needs as the root function would write them, and what they are parts of: for a parameter that gets
        `outputs["scores"]`, what is known of `outputs` counts."""
        for name in map(self.need, needs):
            yield from (name,) if is_key(name) else reference(name).wholes

    @cached_property
    def _needs(self) -> dict[str, str]:
        return {}

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
        return changed(event, **changes)


_SPELLED = frozenset({"by", "limit"})
"""Texts in events that are no references."""


def _reference_fields(event: Event) -> list[str]:
    """The fields of an event that hold references: all texts but those that are spelled out."""
    texts = ("str", "tuple[str, ...]")
    return [field.name for field in fields(event) if field.type in texts and field.name not in _SPELLED]


def keys_of(condition: Condition) -> frozenset[str]:
    """The keys of the tests in a condition, those that they decide among them, and of the wholes that they make up."""
    match condition:
        case Test():
            return frozenset({condition.key, *(implied.key for implied, _ in condition.implies)})
        case Not():
            return keys_of(condition.part)
    return frozenset({condition.key}).union(*map(keys_of, condition.parts))
