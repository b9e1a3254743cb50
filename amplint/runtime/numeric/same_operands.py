"""Two expressions on the same operands: which of them correspond, and which small shapes fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from amplint.runtime.devices import CPU
from amplint.runtime.numeric.answer import Comparison, Inquiry, TextSide, answer
from amplint.runtime.numeric.compute import CompiledExpression
from amplint.runtime.numeric.expression import Expression, Operand, unlisted
from amplint.runtime.numeric.operand_kinds import FREE, GIVEN, INDEX, ORDINARY, bounds, kinds
from amplint.runtime.numeric.sweep import CLASSES, Sweep, layouts
from amplint.runtime.numeric.tally import EXACTLY, HALF_MAX
from amplint.runtime.training.run_record import NotReplayable


@dataclass(frozen=True)
class SameOperands:
    """Two expressions, what their operands are, and the likeliest shapes of these.

    Attributes:
        before: the one expression.
        after: the other one.
        known: what each operand is.
        sweep: the operands in the likeliest shapes.
    """

    before: TextSide
    after: TextSide
    known: Mapping[Operand, str]
    sweep: Sweep

    @classmethod
    def of(cls, one: Expression, other: Expression, seed: int) -> SameOperands:
        """Both expressions as wholes, flags and indices in them included.

        Args:
            one: the one expression.
            other: the other one.
            seed: of the elements of the operands.

        Raises:
            NotReplayable: nothing can be computed from one of them, the other one takes a value from outside that the one
                does not, or no small shapes fit.
        """
        if unlisted((one, other)) is not None:
            raise NotReplayable("one of the two is no number")
        before, after = aligned(CompiledExpression(one), CompiledExpression(other))
        steps = before.program.steps
        known = kinds(steps, before.operands, {id(each) for each in steps})
        return cls(before, after, known, next(fitting(before, known, bounds(steps, before.operands), seed)))

    def compared(self, with_gradients: bool = False) -> Comparison:
        """What is to be computed of both."""
        free = [self.known[each] in (FREE, GIVEN, ORDINARY) and not each.detached for each in self.before.operands]
        wanted = [with_gradients and each for each in free]
        return Comparison(self.before, self.after, Inquiry(self.before.operands, wanted), CPU)


def aligned(before: CompiledExpression, after: CompiledExpression) -> tuple[TextSide, TextSide]:
    """The operands of both texts in one order: they go by how they are written.

    Args:
        before: the expression as it stands.
        after: the expression with the fix.

    Raises:
        NotReplayable: the latter takes a value from outside that the former does not.
    """
    mine, waiting = list(before.operands), list(after.operands)
    known = {(each.text, each.made_of) for each in mine}
    found: dict[int, Operand] = {}
    for is_exact in (True, False):  # first those that are made of the same, then those that are made of something new
        for place, operand in enumerate(mine):
            alike = [each for each in waiting if each.text == operand.text]
            alike = [each for each in alike if is_exact == ((each.text, each.made_of) in known)]
            same = next((each for each in alike if not is_exact or each.made_of == operand.made_of), None)
            if place not in found and same is not None:
                waiting.remove(same)
                found[place] = same
    ordered = [found.get(place, operand) for place, operand in enumerate(mine)]
    if waiting:
        raise NotReplayable(f"with the fix, the expression takes another value from outside: {waiting[0].text}")
    return TextSide(before, mine), TextSide(after, ordered)


def on_operands_of(before: TextSide, other: Expression) -> TextSide | None:
    """Another expression as a text on the operands of the text as it stands; None where it takes others.

    Args:
        before: the text as it stands.
        other: the expression.
    """
    try:
        return aligned(before.program, CompiledExpression(other))[1]
    except NotReplayable:
        return None


def fitting(
    side: TextSide, known: Mapping[Operand, str], limits: Mapping[Operand, tuple[float, float]], seed: int
) -> Iterator[Sweep]:
    """Sweeps over shapes of the operands on which the expression can be computed, the likeliest first; of each number of
    dimensions one.

    Args:
        side: the expression, with its operands.
        known: what each operand is.
        limits: between what its elements lie.
        seed: of the elements.

    Raises:
        NotReplayable: there are none.
    """
    problem, found = "", set[int]()
    inquiry = Inquiry(side.operands, [False] * len(side.operands))
    for layout in layouts():
        if len(layout.free) in found:
            continue
        tried = [Sweep(known, limits, replace(layout, classes=each), seed) for each in CLASSES]
        exact = [answer(side, tried[0].ordinary(), inquiry, EXACTLY)]
        if not exact[0].error:
            found.add(len(layout.free))
            if INDEX in known.values():
                exact += [answer(side, each.ordinary(), inquiry, EXACTLY) for each in tried[1:]]
            moderate = (sweep for sweep, each in zip(tried, exact) if float(each.value.abs().max()) <= HALF_MAX)
            yield next(moderate, tried[0])
        problem = problem or exact[0].error
    if not found:
        raise NotReplayable(f"no small shapes fit the expression ({problem})")
