"""Which functions of a file may run once more before they have returned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.names import dotted
from amplint.syntax.nodes import children


class Recursion:
    """The calls between the functions of one file."""

    def __init__(self, file: File) -> None:
        self._file = file

    def into(self, function: cst.FunctionDef) -> cst.CSTNode | None:
        """What in a function leads back into it: a call, or the attribute that holds modules of its own class."""
        for node, callee in self._edges.get(function, ()):
            if self._leads_to(callee, function):
                return node
        return None

    def _leads_to(self, start: cst.FunctionDef, end: cst.FunctionDef) -> bool:
        waiting, seen = [start], set[cst.FunctionDef]()
        while waiting:
            current = waiting.pop()
            if current is end:
                return True
            if current not in seen:
                seen.add(current)
                waiting += [callee for _, callee in self._edges.get(current, ())]
        return False

    @cached_property
    def _edges(self) -> dict[cst.FunctionDef, list[tuple[cst.CSTNode, cst.FunctionDef]]]:
        """For each function, what it runs and where."""
        found: dict[cst.FunctionDef, list[tuple[cst.CSTNode, cst.FunctionDef]]] = {}
        for call in self._file.tree.find(cst.Call):
            home = self._file.tree.enclosing(call, cst.FunctionDef)
            callee = self._file.callees.of(call)
            if isinstance(home, cst.FunctionDef) and callee is not None:
                found.setdefault(home, []).append((call, callee.node))
        for attribute, forward in self._own_kind():
            home = self._file.tree.enclosing(attribute, cst.FunctionDef)
            if home is forward:
                found.setdefault(forward, []).append((attribute, forward))
        return found

    def _own_kind(self) -> Iterator[tuple[cst.Attribute, cst.FunctionDef]]:
        """The attributes of `self` that hold instances of the class itself, with the method that runs when they are called."""
        classes = self._file.classes
        for attribute in self._file.tree.find(cst.Attribute):
            owner = classes.owner(attribute) if dotted(attribute.value) == "self" else None
            forward = owner.method("forward") if owner is not None else None
            if owner is not None and forward is not None:
                values = owner.values(attribute.attr.value)
                if any(classes.instance_of(call) is owner for value in values for call in _calls(value)):
                    yield attribute, forward


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    if isinstance(node, cst.Call):
        yield node
    for child in children(node):
        yield from _calls(child)
