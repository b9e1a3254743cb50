"""Slices of event graphs (Weiser, ICSE 1981): functions without assignments and branches on which no hazard depends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count

from amplint.model.event_graph import Branch, Condition, Function, Loop, Node, Scoped, Seq, Test, Try, parts_of
from amplint.model.events import Assign
from amplint.model.exploration.handed_names import HandedNames
from amplint.model.exploration.laden_values import LadenValues
from amplint.model.exploration.settling_conditions import SettlingConditions
from amplint.model.exploration.wanted_names import Inside, Wanted
from amplint.model.records import changed
from amplint.model.references import key_of


def sliced(functions: Mapping[str, Function], roots: Collection[str]) -> dict[str, Function]:
    """The functions that are reached from some, as far as hazards depend on what they do.

    Args:
        functions: the functions, by key.
        roots: the keys of those that are explored.
    """
    names = HandedNames(functions, roots)
    slicer = _Slicer(names, LadenValues(names))
    return {key: slicer.slice(function) for key, function in names.functions.items()}


class _Slicer:
    """Leaves out what is not wanted.

    Args:
        names: the functions, and what the names of each are to the others.
        laden: the values that tell anything.
    """

    def __init__(self, names: HandedNames, laden: LadenValues) -> None:
        self._laden, self._conditions = laden, SettlingConditions(names)
        self._wanted = Wanted(names, laden, self._conditions)
        self._anonymous = count()

    def slice(self, function: Function) -> Function:
        """What is left of a function."""
        body = self._left(function.body, self._wanted.whole(function))
        return changed(function, body=body, valued=self._wanted.valued(function))

    def _left(self, node: Node, inside: Inside) -> Node:
        """What is left of a node."""
        match node:
            case Assign():
                if not self._wanted.is_assigned(node, inside):
                    return Seq()
                return changed(node, args=tuple(self._laden.among(node.args, inside.function)))
            case Seq():
                parts = [self._left(part, inside) for part in node.parts]
                return Seq(tuple(each for part in parts for each in (part.parts if isinstance(part, Seq) else (part,))))
            case Branch():
                around = inside.branch(self._conditions.settles(node.condition, inside.function))
                return self._asked(node.condition, [self._left(side, around) for side in parts_of(node)], inside)
            case Loop():
                settles = node.condition is not None and self._conditions.settles(node.condition, inside.function)
                body, orelse = (self._left(part, inside.branch(settles)) for part in parts_of(node))
                return changed(node, body=body, orelse=orelse) if body != Seq() or settles else orelse
            case Scoped():
                body = self._left(node.body, inside)
                return Seq() if body == Seq() else changed(node, body=body)
            case Try():
                return self._tried(node, inside)
        return node

    def _asked(self, condition: Condition, sides: list[Node], inside: Inside) -> Node:
        """What is left of a branch."""
        if sides != [Seq(), Seq()] or self._conditions.counts(condition, inside.function):
            return Branch(condition, *sides)
        if not self._conditions.counts_by_itself(condition, inside.function):
            return Seq()
        return Branch(Test(key_of(f"%asked{next(self._anonymous)}")), *sides)

    def _tried(self, node: Try, inside: Inside) -> Node:
        body = self._left(node.body, inside)
        if body != Seq() and node.handlers:
            body = self._left(node.body, inside.watched)
        parts = [self._left(part, inside) for part in (*node.handlers, node.orelse, node.final)]
        if body == Seq() and all(part == Seq() for part in parts):
            return Seq()
        return Try(body, tuple(parts[:-2]), parts[-2], parts[-1])
