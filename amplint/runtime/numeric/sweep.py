"""The points at which an expression is computed: small seeded operands, and in them every magnitude that matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from amplint.model.torch import precision
from amplint.runtime.numeric.expression import LAYOUT, Apply, Container, Expression, Operand, short_name

Shape = tuple[int, ...]

MAGNITUDES = (
    0.0, 2.0**-24, 1e-7, 1e-6, 1.6e-5, 2.0**-14, 1e-3, 0.03, 0.5, 1.0, 3.0, 6.0, 8.0, 8.5, 10.0, 11.0, 12.0, 14.0, 16.0, 18.0,
    30.0, 60.0, 87.0, 90.0, 105.0, 200.0, 256.0, 300.0, 1000.0, 10_000.0, 65_504.0, 70_000.0, 1e6,
)  # fmt: skip
"""From nothing over the smallest float16, what loses an epsilon, what is still invertible, the ordinary, where sigmoids and
exponentials of float16 and float32 give out, and where squares do, to beyond the largest float16."""

_SHAPES: tuple[Shape, ...] = ((4, 8), (8, 8), (8,), (2, 4, 8), (2, 4, 4, 4), (2, 2, 2, 4, 4))
CLASSES = ((0, 1), (1, 2), (0, 2), (0, 0))
"""Indices of all classes, of those that no flag is set for, of those that one is set for, and of the first alone."""
_PATTERN = (1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.125, -0.875)
_LABELS = (0.0, 1.0, 1.0, 0.0, 0.3)

FREE, ORDINARY, GIVEN, INDEX, MASK = "free", "ordinary", "given", "index", "mask"
SETTING, SIZE, DIMENSION = "setting", "size", "dimension"
"""What an operand is: one whose magnitudes are swept; one that is half and that the finding does not depend on; a target or
another value from 0 to 1; indices; flags; a number; the size of the last dimension, and which one that is. Gradients are asked of
the first two."""


@dataclass(frozen=True)
class Layout:
    """The shapes of the operands, by what they are."""

    free: Shape
    given: Shape
    index: Shape
    mask: Shape | None
    """None: flags are positions, rather."""
    classes: tuple[int, int] = (0, 1)
    """The first of the indices, and the distance from each to the next."""

    def __str__(self) -> str:
        return "x".join(map(str, self.free))


def layouts() -> Iterator[Layout]:
    """The shapes to try, the likeliest first."""
    for free in _SHAPES:
        outer = free[:1] + free[-1:]
        for given in dict.fromkeys((free, free[:-1] + (free[-1] // 2,), free[:-1] + (1,), free[:-1], outer, ())):
            for index in dict.fromkeys((free[:1], free, free[:-1] + (1,))):
                for mask in dict.fromkeys((free, outer, free[:-1], None)):
                    yield Layout(free, given, index, mask)


def kinds(steps: Sequence[Expression], operands: Sequence[Operand], before: set[int]) -> dict[Operand, str]:
    """What each operand is, by its dtype and by how the expression uses it.

    Args:
        steps: the parts of the expression.
        operands: those of the expression.
        before: the ids of what the finding is computed from.
    """
    used = _uses(steps)
    found = {operand: used.get(id(operand)) or _by_dtype(operand) for operand in operands}
    unsettled = [operand for operand in operands if found[operand] == GIVEN]
    half = [operand for operand in unsettled if operand.dtype in precision.ANY_HALF]
    concerned = [operand for operand in unsettled if id(operand) in before]
    free = (
        [operand for operand in concerned if operand in half]
        or [operand for operand in concerned if operand.dtype == precision.FLOAT32]
        or half
        or concerned
    )
    return found | dict.fromkeys(half, ORDINARY) | dict.fromkeys(free, FREE)


def _by_dtype(operand: Operand) -> str:
    if operand.setting:
        return SETTING
    return {precision.INTEGER: INDEX, precision.BOOL: MASK}.get(operand.dtype, GIVEN)


_INDEXING = {
    "gather": (1, 2), "take_along_dim": (1,), "index_select": (1, 2), "nll_loss": (1,), "cross_entropy": (1,), "one_hot": (0,),
    "scatter": (1, 2), "scatter_add": (1, 2), "take": (1,), "CrossEntropyLoss": (2,), "NLLLoss": (2,),
}  # fmt: skip
_MASKING = {"masked_fill": (1,), "masked_fill_": (1,), "masked_select": (1,), "invert": (0,), "logical_not": (0,), "and_": (0, 1),
            "or_": (0, 1), "getitem": (1,), "setitem": (1,), "where": (0,)}  # fmt: skip


_SIZING = dict.fromkeys(("view", "reshape", "expand"), (1, 2, 3, 4))
"""The operands that say how many elements there are."""
_REDUCING = dict.fromkeys("amax amin mean sum softmax log_softmax logsumexp".split(), (1,))
"""The operands that say along which dimension."""
_PROBABLE = {"binary_cross_entropy": 0, "BCELoss": 1}
"""The operands that torch wants to lie between 0 and 1."""


def bounds(steps: Sequence[Expression], operands: Sequence[Operand]) -> dict[Operand, tuple[float, float]]:
    """Between what the elements of each operand lie.

    Args:
        steps: the parts of the expression.
        operands: those of the expression.
    """
    found = {operand: (operand.low, operand.high) for operand in operands}
    for step in steps:
        place = _PROBABLE.get(short_name(step.op)) if isinstance(step, Apply) else None
        if isinstance(step, Apply) and place is not None and place < len(step.arguments):
            inner = step.arguments[place]
            while isinstance(inner, Apply) and (short_name(inner.op) in LAYOUT or short_name(inner.op) == "to"):
                inner = inner.arguments[0]
            if isinstance(inner, Operand):
                found[inner] = max(0.0, inner.low), min(1.0, inner.high)
    return found


def _uses(steps: Sequence[Expression]) -> dict[int, str]:
    used: dict[int, str] = {}
    for step in reversed(steps):
        if not isinstance(step, Apply):
            continue
        name = short_name(step.op)
        for kind, table in ((INDEX, _INDEXING), (MASK, _MASKING), (SIZE, _SIZING), (DIMENSION, _REDUCING)):
            for position in table.get(name, ()):
                if position < len(step.arguments):
                    _use(step.arguments[position], kind, used)
        if name in LAYOUT and id(step) in used and not (name == "cast" and used[id(step)] == MASK):
            _use(step.arguments[0], used[id(step)], used)
    return used


def _use(expression: Expression, kind: str, used: dict[int, str]) -> None:
    used.setdefault(id(expression), kind)
    if isinstance(expression, Container):
        for item in expression.items:
            _use(item, kind, used)
    if isinstance(expression, Apply) and short_name(expression.op) == "to":
        _use(expression.arguments[0], kind, used)


_SIGNED = sorted({sign * magnitude for magnitude in MAGNITUDES for sign in (1.0, -1.0)})
_Place = Callable[[float, "torch.Tensor | float"], torch.Tensor]


@dataclass(frozen=True)
class SamplePoint:
    """Operands in float64, rounded to their dtypes; `at` is the magnitude, with its sign, that stands in `swept`.

    `even` says that it stands in every element.
    """

    values: Mapping[Operand, torch.Tensor | float]
    swept: Operand | None
    at: float
    even: bool

    @property
    def place(self) -> str:
        """Which point it is, in words."""
        return f"{'all' if self.swept is None else self.swept.text} = {self.at:g}"


class Sweep:
    """The points for some operands.

    Args:
        kinds: what each operand is.
        bounds: between what its elements lie.
        layout: the shapes of the operands.
        seed: of the elements.
    """

    def __init__(
        self, kinds: Mapping[Operand, str], bounds: Mapping[Operand, tuple[float, float]], layout: Layout, seed: int
    ) -> None:
        self.kinds, self.bounds, self.layout = kinds, bounds, layout
        generator = torch.Generator().manual_seed(seed)
        self._ordinary = {operand: self._made(operand, generator) for operand in kinds}

    def ordinary(self) -> SamplePoint:
        """A point with nothing special about it."""
        return SamplePoint(dict(self._ordinary), None, 1.0, False)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The numbers that the code does not give, in words."""
        numbers = {operand.text: value for operand, value in self._ordinary.items() if isinstance(value, (int, float))}
        return tuple(f"`{text}` is {value:g}" for text, value in numbers.items())

    def points(self) -> Iterator[SamplePoint]:
        """All points: for each operand whose magnitudes are swept, each magnitude in all elements; every other one in a single
        element, and in a pattern of both signs; and, where there are several, in all of them together."""
        free = [operand for operand, kind in self.kinds.items() if kind == FREE]
        for operand in free:
            for magnitude in self._within(operand, _SIGNED):
                yield self._point(operand, magnitude, _everywhere)
            for magnitude in self._within(operand, MAGNITUDES[::2]):
                yield self._point(operand, magnitude, _once)
                yield self._point(operand, magnitude, _patterned)
        yield from self._extremes()
        if len(free) > 1:
            for magnitude in MAGNITUDES[::2]:
                together = {each: self._bounded(_everywhere(magnitude, self._ordinary[each]), each) for each in free}
                yield SamplePoint(self._ordinary | together, None, magnitude, True)

    def _extremes(self) -> Iterator[SamplePoint]:
        """Targets that are all 0 or all 1, and flags that are all set or none of them."""
        for operand, kind in self.kinds.items():
            value = self._ordinary[operand]
            if isinstance(value, torch.Tensor) and (kind == GIVEN or value.dtype == torch.bool):
                for extreme in (0, 1):
                    yield SamplePoint(
                        self._ordinary | {operand: torch.full_like(value, extreme)}, None, float(extreme), False
                    )

    def _point(self, operand: Operand, magnitude: float, place: _Place) -> SamplePoint:
        value = self._bounded(place(magnitude, self._ordinary[operand]), operand)
        return SamplePoint(self._ordinary | {operand: value}, operand, magnitude, place is _everywhere)

    def _made(self, operand: Operand, generator: torch.Generator) -> torch.Tensor | float:
        kind, layout = self.kinds[operand], self.layout
        if kind == SETTING:
            return 0.5
        if kind == SIZE:
            return layout.free[-1]
        if kind == DIMENSION:
            return -1
        if kind == INDEX:
            first, distance = layout.classes
            places = torch.arange(math.prod(layout.index)).reshape(layout.index)
            return (first + distance * places) % min(layout.free)
        if kind == MASK and layout.mask is not None:
            return (torch.arange(math.prod(layout.mask)) % 2 == 0).reshape(layout.mask)
        if kind == MASK:
            return torch.arange(min(layout.free))
        shape = layout.given if kind == GIVEN else layout.free
        if kind == GIVEN:
            labels = [_LABELS[index % len(_LABELS)] for index in range(math.prod(shape))]
            return self._bounded(torch.tensor(labels, dtype=torch.float64).reshape(shape), operand)
        return self._bounded(torch.randn(shape, generator=generator, dtype=torch.float64) / 2, operand)

    def _within(self, operand: Operand, magnitudes: Iterable[float]) -> Iterator[float]:
        """The magnitudes that an operand can have: within its bounds, and finite in its dtype."""
        (low, high), largest = self.bounds[operand], torch.finfo(dtype_of(operand)).max
        return (each for each in magnitudes if low <= each <= high and abs(each) <= largest)

    def _bounded(self, value: torch.Tensor, operand: Operand) -> torch.Tensor:
        """A value within the operand's bounds, as its dtype holds it."""
        low, high = self.bounds[operand]
        if math.isfinite(low) and math.isfinite(high) and bool(((value < low) | (value > high)).any()):
            value = low + (high - low) * torch.sigmoid(value)
        return value.clamp(low, high).to(dtype_of(operand)).double()


def dtype_of(operand: Operand) -> torch.dtype:
    """The dtype that an operand has in the code; float16 of the two halves, and float32 where the file does not tell."""
    named = {precision.EITHER_HALF: torch.float16, precision.FLOAT16: torch.float16, precision.BFLOAT16: torch.bfloat16}
    return (named | {precision.FLOAT64: torch.float64}).get(operand.dtype, torch.float32)


def _everywhere(magnitude: float, like: torch.Tensor | float) -> torch.Tensor:
    assert isinstance(like, torch.Tensor)
    return torch.full_like(like, magnitude)


def _once(magnitude: float, like: torch.Tensor | float) -> torch.Tensor:
    assert isinstance(like, torch.Tensor)
    value = like.clone()
    value.view(-1)[min(3, value.numel() - 1)] = magnitude
    return value


def _patterned(magnitude: float, like: torch.Tensor | float) -> torch.Tensor:
    assert isinstance(like, torch.Tensor)
    pattern = [_PATTERN[index % len(_PATTERN)] for index in range(like.numel())]
    return (torch.tensor(pattern, dtype=torch.float64) * magnitude).reshape(like.shape)
