"""Functions that call each other: which are reached, and what the names of one are to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from amplint.model.event_graph import Call, Function, Jump, Node, Try, parts_of
from amplint.model.events import Assign, Event, Scale
from amplint.model.exploration.call_references import MAX_DEPTH, RETURN, Frame
from amplint.model.references import key_of, reference

_INNER = "¤"
"""Marks what nobody outside of a callee knows."""
_LONGEST = 16
"""A recursive function may hand over ever longer references (`node.next`): no call goes so deep."""


class HandedNames:
    """The functions that are reached from some, and what their names are to each other.

    `guarded` are those that are called where somebody handles what fails; `outward` what each assigns, with what it calls, that
    its callers may know.

    Args:
        functions: the functions, by key.
        roots: the keys of those that are reached from outside.
    """

    def __init__(self, functions: Mapping[str, Function], roots: Collection[str]) -> None:
        self.functions: dict[str, Function] = {}
        self.guarded: set[str] = set()
        self.calls: dict[str, list[Call]] = {}
        self._frames: dict[int, Frame] = {}
        self._up: dict[tuple[int, str], str] = {}
        self._reach(functions, roots)
        self.nesting = {function.around for function in self.functions.values()}
        """The functions in which others are nested, which may ask for all their names."""
        self.conditions: dict[str, set[str]] = {}
        """The keys of conditions that calls hand to each function."""
        for call in (each for calls in self.calls.values() for each in calls):
            handed = self.conditions.setdefault(self.functions[call.function].key, set())
            handed.update(key_of(name) for name, _ in call.conditions)
        self.outward = {function.key: _assigned(function) for function in self.functions.values()}
        for _ in range(MAX_DEPTH):
            if not sum(map(self._hand_up, self.calls)):
                break

    def _reach(self, functions: Mapping[str, Function], roots: Collection[str]) -> None:
        waiting = [(key, False) for key in roots]
        while waiting:
            key, guarded = waiting.pop()
            function = functions[key]
            new = guarded and function.key not in self.guarded
            if guarded:
                self.guarded.add(function.key)
            if key in self.functions and not new:
                continue
            self.functions[key] = function
            calls = [each for each in _calls(function.body, False) if each[0].function in functions]
            self.calls[function.key] = [call for call, _ in calls]
            waiting += [(call.function, handled or guarded) for call, handled in calls]

    def _hand_up(self, key: str) -> int:
        """Add to what a function assigns what its callees do; how much more that is."""
        mine = self.outward[key]
        before = len(mine)
        for call in self.calls[key]:
            theirs = self.outward[self.functions[call.function].key]
            mine.update(above for name in [*theirs] if (above := self.up(call, name)))
        return len(mine) - before

    def events(self) -> Iterator[Node]:
        """All that happens in the functions."""
        for function in self.functions.values():
            yield from _within(function.body)

    def up(self, call: Call, name: str) -> str:
        """What a name of a called function is to the caller; empty for what is the callee's own.

        Args:
            call: the call.
            name: the name, as the callee writes it.
        """
        known = self._up.get((id(call), name))
        if known is None:
            if id(call) not in self._frames:
                self._frames[id(call)] = Frame(self.functions[call.function], call.binding, _INNER)
            above = self._frames[id(call)].ref(name)
            known = "" if _INNER in above or len(reference(above).wholes) > _LONGEST else above
            self._up[id(call), name] = known
        return known

    def is_own(self, name: str, function: Function) -> bool:
        """Whether a name is known in one function alone, but for what calls hand over.

        Args:
            name: the name, as the function writes it.
            function: the function.
        """
        own = reference(name)
        local = own.root in function.locals and function.key not in self.nesting
        return local or own.root == RETURN or own.is_temporary


def _calls(node: Node, handled: bool) -> Iterator[tuple[Call, bool]]:
    """The calls in a node, and whether a handler takes over when they fail."""
    if isinstance(node, Call):
        yield node, handled
    for part in parts_of(node):
        yield from _calls(part, handled or (isinstance(node, Try) and part is node.body and bool(node.handlers)))


def _within(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (Event, Call, Jump)):
            yield current
        waiting += parts_of(current)


def _assigned(function: Function) -> set[str]:
    """The names that a function assigns itself."""
    return {node.target for node in _within(function.body) if isinstance(node, (Assign, Scale))}
