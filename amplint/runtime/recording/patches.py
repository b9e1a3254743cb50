"""Attributes replaced for a while, and put back."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from amplint.runtime.recording.call_sites import in_torch

Around = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Runs in the place of a call: gets what was called, and its arguments."""

_ABSENT = object()


class _Held(threading.local):
    """The calls that are running on this thread, so that a call inside a call is not seen twice."""

    def __init__(self) -> None:
        self.keys: set[tuple[str, int]] = set()


class Patches:
    """Replaces attributes; `undo` puts back what was there, in the reverse order.

    A replacement that someone got hold of meanwhile just calls the original once `undo` has run.
    """

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._held = _Held()
        self._on = True

    def undo(self) -> None:
        """Put everything back."""
        self._on = False
        self._undo.close()

    def on_undo(self, callback: Callable[[], object]) -> None:
        """Have something else taken back with the rest."""
        self._undo.callback(callback)

    def attribute(self, owner: Any, name: str, new: object) -> None:
        """Set an attribute.

        Args:
            owner: what has the attribute.
            name: the attribute.
            new: what it is to hold until all is put back.
        """
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, new)
        self._undo.callback(_put_back, owner, name, before)

    def methods(self, base: type, name: str, around: Around, also_torch: bool = False) -> None:
        """Surround a method of a class, and of those known subclasses that have one of their own.

        A call inside the same call on the same object (`super`) is not surrounded.

        Args:
            base: the class.
            name: the method.
            around: called in the place of the method, with the method.
            also_torch: whether calls that torch makes itself are surrounded.
        """
        for cls in _family(base):
            if name in vars(cls):
                self.attribute(cls, name, self._surround(vars(cls)[name], around, name, True, also_torch))

    def method(self, cls: type, name: str, around: Around) -> None:
        """Surround a method that a class has or inherits, but for torch's own calls.

        Args:
            cls: the class.
            name: the method.
            around: called in the place of the method, with the method.
        """
        self.attribute(cls, name, self._surround(getattr(cls, name), around, name, True, False))

    def function(self, modules: Sequence[Any], name: str, around: Around, group: str) -> None:
        """Surround a function that modules offer.

        Where the function is a decorator's, what the decorator calls is replaced, so that the program meets the
        replacement under whatever name it has imported the function. A torch without the function is left alone.

        Args:
            modules: those that have the function.
            name: the function.
            around: called in the place of the function, with the function.
            group: calls inside others of the same group are not surrounded.
        """
        function: Any = getattr(modules[0], name, None)
        inner = getattr(function, "__wrapped__", None)
        for cell in getattr(function, "__closure__", None) or ():
            if inner is not None and cell.cell_contents is inner:
                self._cell(cell, self._surround(inner, around, group))
                return
        for module in modules if function is not None else ():
            self.attribute(module, name, self._surround(function, around, group))

    def _cell(self, cell: Any, new: object) -> None:
        before, cell.cell_contents = cell.cell_contents, new
        self._undo.callback(setattr, cell, "cell_contents", before)

    def _surround(
        self,
        original: Callable[..., Any],
        around: Around,
        group: str,
        method: bool = False,
        also_torch: bool = True,
    ) -> Callable[..., Any]:
        held = self._held

        # Without the attributes of the function: torch may keep one there that it calls in its place.
        @functools.wraps(original, updated=())
        def surrounded(*args: Any, **kwargs: Any) -> Any:
            key = (group, id(args[0]) if method else 0)
            if not self._on or key in held.keys or (not also_torch and in_torch(sys._getframe(1))):
                return original(*args, **kwargs)
            held.keys.add(key)
            try:
                return around(original, args, kwargs)
            finally:
                held.keys.discard(key)

        return surrounded


def _put_back(owner: Any, name: str, before: object) -> None:
    if before is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


def _family(base: type) -> list[type]:
    found: dict[type, None] = {}
    waiting = [base]
    while waiting:
        cls = waiting.pop()
        if cls not in found:
            found[cls] = None
            waiting += cls.__subclasses__()
    return list(found)
