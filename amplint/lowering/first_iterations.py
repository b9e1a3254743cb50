"""The first iteration of a loop that counts: what `if index:` and `if step > 0` ask, as a flag that the loop keeps."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection

import libcst as cst

from amplint.lowering.counters import number_in
from amplint.model.event_graph import Branch, Condition, Node, Not, Seq, Test
from amplint.model.events import Assign
from amplint.model.records import frozen
from amplint.model.references import key_of
from amplint.syntax.comparisons import COMPARED

_Compare = Callable[[float, float], bool]
_FROM_THE_RIGHT: dict[_Compare | None, _Compare] = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
_TURNS = 3
"""What two later iterations answer alike to a comparison with a number, and the first one does not, is a question for it."""


@frozen
class CountedLoop:
    """A loop whose target counts its iterations from a number.

    `first` is a reference that is true in the first iteration alone, `fresh` one that is true until that has begun.
    """

    site: int
    counter: str
    begins: float
    first: str
    fresh: str

    @property
    def before(self) -> Node:
        """What happens before the loop."""
        return Assign(self.site, self.fresh, truth=True)

    @property
    def each_time(self) -> Node:
        """What happens where each iteration begins."""
        begun = Seq((Assign(self.site, self.first, truth=True), Assign(self.site, self.fresh, truth=False)))
        return Branch(_flag(self.fresh, "range"), begun, Assign(self.site, self.first, truth=False))


class FirstIterations:
    """Knows the loops around a place that count, and of which of them conditions have asked for the first iteration."""

    def __init__(self) -> None:
        self.around: tuple[CountedLoop, ...] = ()
        self.asked: set[CountedLoop] = set()

    def enter(self, loop: CountedLoop | None, assigned: Collection[str]) -> None:
        """Go on in the body of a loop, which lasts until `around` is set back.

        Args:
            loop: the loop; None for one that does not count.
            assigned: the names that its body assigns: they count nothing.
        """
        counting = self.around if loop is None else (*self.around, loop)
        self.around = tuple(each for each in counting if each.counter not in assigned)

    def told(self, node: cst.BaseExpression) -> Condition | None:
        """The question whether it is the first iteration of a loop, or a later one, where an expression asks just that.

        Args:
            node: an expression in a truth context.
        """
        match node:
            case cst.Name() if (loop := self._counted_by(node)) is not None:
                return Not(self._asked(loop)) if loop.begins == 0 else None
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=sign, comparator=right)]):
                compare = COMPARED.get(type(sign))
                if isinstance(right, cst.Name):
                    left, right, compare = right, left, _FROM_THE_RIGHT.get(compare, compare)
                loop, number = self._counted_by(left), number_in(right)
                if loop is not None and number is not None and compare is not None:
                    return self._compared(loop, compare, number)
        return None

    def _compared(self, loop: CountedLoop, compare: _Compare, number: float) -> Condition | None:
        first, *later = (compare(loop.begins + turn, number) for turn in range(_TURNS))
        if first in later:
            return None
        return self._asked(loop) if first else Not(self._asked(loop))

    def _counted_by(self, node: cst.BaseExpression) -> CountedLoop | None:
        name = node.value if isinstance(node, cst.Name) else None
        return next((loop for loop in self.around if loop.counter == name), None)

    def _asked(self, loop: CountedLoop) -> Test:
        self.asked.add(loop)
        return _flag(loop.first, "moment")


def _flag(name: str, kind: str) -> Test:
    return Test(key_of(name), frozenset({name}), kind)
