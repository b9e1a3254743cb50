"""Which values may tell anything: those that may be scaled, in half precision, or gradients. All others are plain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.model.event_graph import Call, Function, Jump, Node, Scoped, parts_of
from amplint.model.events import Assign, Scale
from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.handed_names import HandedNames
from amplint.model.references import reference


class LadenValues:
    """The names in functions that may hold something scaled, half, or derived from gradients, on some path.

    Args:
        names: the functions, and what their names are to each other.
    """

    def __init__(self, names: HandedNames) -> None:
        self._names = names
        self._shared: set[str] = set()
        self._own: dict[str, set[str]] = {each.key: set() for each in names.functions.values()}
        self._half: set[str] = set()
        """The functions that are called in a region of float16."""
        before = -1
        while before != (before := self._size):
            for function in names.functions.values():
                self._look(function.body, function, function.key in self._half)

    @property
    def _size(self) -> int:
        return len(self._shared) + len(self._half) + sum(map(len, self._own.values()))

    def among(self, names: Iterable[str], function: Function) -> Iterator[str]:
        """Those of some names of a function that may hold such a value.

        Args:
            names: the names, as the function writes them.
            function: the function.
        """
        own = self._own[function.key]
        for name in names:
            known = reference(name)
            if known.is_gradient or any(each in own or each in self._shared for each in known.wholes):
                yield name

    def _look(self, node: Node, function: Function, half: bool) -> None:
        match node:
            case Scale():
                self._add(node.target, function)
            case Assign() if node.truth is None:
                if self._is_laden(node, function, half):
                    self._add(node.target, function)
            case Jump():
                if self._is_laden(node, function, half):
                    self._add(RETURN, function)
            case Call():
                self._hand_over(node, function, half)
            case Scoped():
                self._look(node.body, function, half or node.region.may_be_float16)
            case _:
                for part in parts_of(node):
                    self._look(part, function, half)

    def _is_laden(self, computed: Assign | Jump, function: Function, half: bool) -> bool:
        if half and computed.computes:
            return True
        return any(True for _ in self.among((*computed.carried, *computed.args), function))

    def _hand_over(self, call: Call, function: Function, half: bool) -> None:
        """What a call hands over, to the function that it calls and back."""
        callee = self._names.functions.get(call.function)
        if callee is None:
            return
        if half:
            self._half.add(callee.key)
        for bound, value in call.binding:
            if value:
                if any(True for _ in self.among((value,), function)):
                    self._add(bound, callee)
                parts = reference(value)
                for name in [each for each in (*self._own[function.key], *self._shared) if parts.includes(each)]:
                    self._add(bound + name[len(value) :], callee)
        shared = self._shared if callee.key in self._names.nesting else ()
        for name in [*self._own[callee.key], *shared]:
            above = self._names.up(call, name)
            if above:
                self._add(above, function)
        if call.target and RETURN in self._own[callee.key]:
            self._add(call.target, function)

    def _add(self, name: str, function: Function) -> None:
        (self._own[function.key] if self._names.is_own(name, function) else self._shared).add(name)
