"""Conditions on the place in a run: counters against numbers and options (`(i + 1) % accumulate == 0`, `step < warmup`).

They ask nothing of a step or a gradient, and so cannot tell whether a scaler has skipped one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import IntEnum

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import called, path_of
from amplint.syntax.nodes import children
from amplint.syntax.words import words

_PLAIN_CALLS = frozenset({"len", "int", "float", "max", "min", "round", "abs"})
_SHORT_COUNTS = frozenset({"i", "j", "it", "ni"})
_MAX_EXPANSION = 3
_ORDERS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


class SideKind(IntEnum):
    """What goes into a side of a comparison: nothing but what stays the same, counters, or anything else."""

    FIXED = 0
    COUNTER = 1
    OTHER = 2


class CounterReader:
    """Tells counters from what else a function knows.

    Args:
        definition: the only value that a local name is ever assigned.
        counted: whether a name or an attribute is counted up by whole numbers, whatever it is called.
    """

    def __init__(
        self, definition: Callable[[cst.Name], cst.BaseExpression | None], counted: Callable[[cst.BaseExpression], bool]
    ) -> None:
        self._definition, self._counted = definition, counted

    def is_moment(self, left: cst.BaseExpression, right: cst.BaseExpression, changing: Collection[str]) -> bool:
        """Whether it is a place in the run, one of many, at which two sides are equal, or one is in the other.

        Args:
            left: one side.
            right: the other side.
            changing: the names that do not stay the same.
        """
        return {self.part(left, changing), self.part(right, changing)} == {SideKind.FIXED, SideKind.COUNTER}

    def is_range(self, node: cst.Comparison, changing: Collection[str]) -> bool:
        """Whether a comparison splits the run in two: before a place in it, and after.

        One with the length of something alone may as well ask for the last batch, a place of its own.

        Args:
            node: a comparison.
            changing: the names that do not stay the same.
        """
        operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
        if not isinstance(operator, _ORDERS) or any(map(_is_end, (node.left, right))) or _has_modulo(node):
            return False
        return self.is_moment(node.left, right, changing)

    def part(self, node: cst.BaseExpression, changing: Collection[str], depth: int = 0) -> SideKind:
        """What goes into an expression.

        Args:
            node: the expression.
            changing: the names that do not stay the same.
            depth: how many names have been followed to get here.
        """
        match node:
            case cst.Integer() | cst.Float() | cst.SimpleString():
                return SideKind.FIXED
            case cst.Name():
                return self._name(node, changing, depth)
            case cst.Attribute():
                return self._attribute(node, changing)
            case cst.Subscript() if "step" not in " ".join(words(node)).lower():
                return SideKind.FIXED if _roots(node).isdisjoint({*changing, "self"}) else SideKind.OTHER
            case cst.Call(func=cst.Name(value=name)) if name == "len":
                return SideKind.FIXED
            case cst.Call(func=cst.Name(value=name)) if name in _PLAIN_CALLS:
                return self._most([arg.value for arg in node.args], changing, depth)
            case cst.BinaryOperation():
                return self._most([node.left, node.right], changing, depth)
            case cst.UnaryOperation():
                return self.part(node.expression, changing, depth)
            case cst.List() | cst.Tuple() | cst.Set():
                return self._most([element.value for element in node.elements], changing, depth)
        return SideKind.OTHER

    def _most(self, nodes: list[cst.BaseExpression], changing: Collection[str], depth: int) -> SideKind:
        return max((self.part(node, changing, depth) for node in nodes), default=SideKind.FIXED)

    def _name(self, node: cst.Name, changing: Collection[str], depth: int) -> SideKind:
        if node.value not in changing:
            return SideKind.COUNTER if _is_handed_count(node.value) else SideKind.FIXED
        if vocabulary.STEP_GATE.search(node.value) or vocabulary.TROUBLE.search(node.value):
            return SideKind.OTHER
        if vocabulary.COUNTER.search(node.value) and not vocabulary.BEFORE.search(node.value):
            return SideKind.COUNTER
        if self._counted(node):
            return SideKind.COUNTER
        value = self._definition(node) if depth < _MAX_EXPANSION else None
        return self.part(value, changing, depth + 1) if value is not None else SideKind.OTHER

    def _attribute(self, node: cst.Attribute, changing: Collection[str]) -> SideKind:
        path, last = path_of(node), node.attr.value
        if not path or vocabulary.STEP_GATE.search(called(path)) or vocabulary.TROUBLE.search(called(path)):
            return SideKind.OTHER
        if self._counted(node):
            return SideKind.COUNTER
        if vocabulary.COUNT_OPTION.search(last):
            return SideKind.FIXED
        if vocabulary.BEFORE.search(last):
            return SideKind.OTHER
        if vocabulary.COUNTER.search(last):
            return SideKind.COUNTER
        return SideKind.FIXED if _roots(node).isdisjoint(changing) and path.count(".") <= 3 else SideKind.OTHER


def number_in(node: cst.CSTNode | None) -> float | None:
    """The number that an expression is, where it is written out."""
    match node:
        case cst.UnaryOperation(operator=cst.Minus() | cst.Plus() as sign, expression=part):
            value = number_in(part)
            return -value if value is not None and isinstance(sign, cst.Minus) else value
        case cst.Integer() | cst.Float():
            return node.evaluated_value
    return None


def number_added(node: cst.CSTNode) -> float | None:
    """The number that an assignment adds to what its target was: `i += 1`, `i = i + 1`; None for any other."""
    match node:
        case cst.AugAssign(operator=cst.AddAssign() | cst.SubtractAssign() as operator, value=value):
            added = number_in(value)
            return -added if added is not None and isinstance(operator, cst.SubtractAssign) else added
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.BinaryOperation() as value):
            adds = isinstance(value.operator, cst.Add) and value.left.deep_equals(target)
            return number_in(value.right) if adds else None
    return None


def counts_from(node: cst.For) -> float | None:
    """The number from which the first target of a loop counts its iterations; None where it does not."""
    match node.iter:
        case cst.Call(func=cst.Name(value="enumerate"), args=[_]) | cst.Call(func=cst.Name(value="range"), args=[_]):
            return 0
        case cst.Call(func=cst.Name(value="enumerate" | "range"), args=[first, second]):
            return number_in((second if path_of(node.iter.func) == "enumerate" else first).value)
    return None


def _is_handed_count(name: str) -> bool:
    """Whether what stays the same in a function is called like the count of its caller's iterations."""
    option = vocabulary.COUNT_OPTION.search(name) or vocabulary.BEFORE.search(name)
    return len(name) > 2 and not name.endswith("s") and option is None and vocabulary.COUNTER.search(name) is not None


def counts_iterations(parameter: str) -> bool:
    """Whether a parameter is called like the count of its caller's iterations, as `i` and `batch_idx` are.

    Args:
        parameter: its name.
    """
    return parameter in _SHORT_COUNTS or _is_handed_count(parameter)


def _roots(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.Name):
        return {node.value}
    if isinstance(node, cst.Attribute):
        return _roots(node.value)
    return set().union(*map(_roots, children(node)))


def asks_for_end(*sides: cst.BaseExpression) -> bool:
    """Whether a comparison for equality asks for the last of something.

    Args:
        *sides: its sides.
    """
    return any(map(_is_end, sides))


def _is_end(node: cst.BaseExpression) -> bool:
    """Whether a side is the length of something, or a number before it."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Subtract)):
        return _is_end(node.left)
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "len"


def _has_modulo(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return True
    return any(map(_has_modulo, children(node)))
