"""The points at which an expression is computed: small seeded operands, and in them every magnitude that matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from amplint.model.torch import precision
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.operand_kinds import DIMENSION, FREE, GIVEN, INDEX, MASK, SETTING, SIZE

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
