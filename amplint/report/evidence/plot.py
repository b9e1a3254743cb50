"""A measured value over the iterations, or over the values of an operand, as inline SVG: before the fix, after it, and right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from amplint.model.records import NamedTuple
from amplint.report.markup import escape
from amplint.runtime.verdict import Axis

WIDTH, HEIGHT = 460, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 10, 12, 34
_LANE = 20
"""The height of the lanes for what the scale has no place for."""
_EDGE = 4
"""How far from the edge of its lane such a value lies."""

_ORDER = ("reference", "before", "after")
"""What comes later is drawn on top; the reference is a wide band, so that what lies on it shows."""

_LOG_FROM = 100.0
"""From this ratio between the largest and the smallest value on, a linear scale would hide the smaller."""


class _Scale(NamedTuple):
    """From values to heights; `low` and `high` are exponents of ten where it is logarithmic."""

    low: float
    high: float
    log: bool
    above: bool
    """There is a lane at the top, for what is not finite."""
    below: bool
    """There is a lane at the bottom, for zero, which a logarithmic scale never reaches."""

    def y(self, value: float) -> float:
        top = _TOP + (_LANE if self.above else 0)
        bottom = HEIGHT - _BOTTOM - (_LANE if self.below else 0)
        if not math.isfinite(value):
            return _TOP + _EDGE
        if self.log and value == 0:
            return HEIGHT - _BOTTOM - _EDGE
        place = (math.log10(value) if self.log else value) - self.low
        return bottom - (bottom - top) * place / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Whether a value has its place on the scale itself."""
        return math.isfinite(value) and not (self.log and value == 0)


def plot(series: Mapping[str, Sequence[float]], title: str, axis: Axis | None = None) -> str:
    """The figure for some series; empty where there is nothing to see.

    Args:
        series: values under the names `before`, `after` and `reference`; others are left out.
        title: what the values are, where the axis does not say.
        axis: what they go over; None for iterations.
    """
    shown = {name: series[name] for name in _ORDER if series.get(name)}
    length = max(map(len, shown.values()), default=0)
    if length < 2:
        return ""
    scale = _scale([value for values in shown.values() for value in values])
    over = axis.name.replace("`", "") if axis is not None else "iteration"
    ticks = [f"{place:.3g}" for place in axis.places] if axis is not None else [str(one + 1) for one in range(length)]
    parts = [*_grid(scale), *_ticked(over, ticks)]
    for name, values in shown.items():
        parts += _curve(name, values, length, scale)
    label = escape(f"{(axis.shown if axis is not None else title) or 'measured value'}, by {over}")
    legend = "".join(
        f'<span class="key"><svg viewBox="0 0 26 10" aria-hidden="true">{_sample(name)}</svg>{name}</span>'
        for name in ("before", "after", "reference")
        if name in shown
    )
    kind = ", logarithmic scale" if scale.log else ""
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
        f"<figcaption>{label}{kind}<br>{legend}</figcaption></figure>"
    )


def _scale(values: Sequence[float]) -> _Scale:
    finite = [value for value in values if math.isfinite(value)]
    positive = [value for value in finite if value > 0]
    above = len(finite) < len(values)
    if positive and min(finite) >= 0 and max(positive) / min(positive) >= _LOG_FROM:
        low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
        return _Scale(low, max(high, low + 1), True, above, 0.0 in finite)
    low_value, high_value = min([0.0, *finite]), max([0.0, *finite])
    if low_value == high_value:
        high_value = low_value + 1
    step = _step(high_value - low_value)
    return _Scale(step * math.floor(low_value / step), step * math.ceil(high_value / step - 1e-9), False, above, False)


def _step(span: float) -> float:
    """A round distance of ticks, of which three to six cover the span."""
    power = 10.0 ** math.floor(math.log10(span))
    return next(power * factor for factor in (0.2, 0.5, 1, 2) if span / (power * factor) <= 6)


def _ticks(scale: _Scale) -> Iterator[tuple[float, str]]:
    if scale.log:
        stride = max(1, math.ceil((scale.high - scale.low) / 6))
        for exponent in range(int(scale.low), int(scale.high) + 1, stride):
            yield 10.0**exponent, f"1e{exponent}" if abs(exponent) > 3 else f"{10.0**exponent:g}"
        return
    step = _step(scale.high - scale.low)
    for index in range(round((scale.high - scale.low) / step) + 1):
        value = scale.low + index * step
        yield value, f"{0.0 if abs(value) < step / 1e6 else value:.4g}"


def _grid(scale: _Scale) -> Iterator[str]:
    lanes = [(math.inf, "inf, nan")] if scale.above else []
    lanes += [(0.0, "0")] if scale.below else []
    for value, label in [*_ticks(scale), *lanes]:
        y = scale.y(value)
        kind = "grid" if scale.holds(value) else "grid lane"
        yield f'<path class="{kind}" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{label}</text>'


def _x(index: int, length: int) -> float:
    return _LEFT + 10 + (WIDTH - _LEFT - _RIGHT - 20) * index / (length - 1)


def _ticked(name: str, ticks: Sequence[str]) -> Iterator[str]:
    stride = max(1, math.ceil(len(ticks) / (10 if max(map(len, ticks)) < 5 else 7)))
    for index in range(0, len(ticks), stride):
        x = _x(index, len(ticks))
        yield f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 14}" text-anchor="middle">{ticks[index]}</text>'
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield f'<text x="{middle:.0f}" y="{HEIGHT - 5}" text-anchor="middle">{escape(name)}</text>'


def _curve(name: str, values: Sequence[float], length: int, scale: _Scale) -> Iterator[str]:
    points = [(_x(index, length), scale.y(value), scale.holds(value)) for index, value in enumerate(values)]
    yield f'<path class="line {name}" d="{_path(points)}"/>'
    if name != "reference":
        for x, y, _ in points:
            yield _mark(name, x, y)
        return
    for x, y, holds in points:
        if not holds:
            yield f'<circle class="line reference" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _path(points: Iterable[tuple[float, float, bool]]) -> str:
    """A line through the points on the scale, broken where one is not."""
    pieces: list[str] = []
    drawing = False
    for x, y, holds in points:
        if holds:
            pieces.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
        drawing = holds
    return "".join(pieces)


def _mark(name: str, x: float, y: float) -> str:
    """A square before, a disc after: not told apart by colour alone."""
    if name == "before":
        return f'<rect class="mark before" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>'
    return f'<circle class="mark after" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def _sample(name: str) -> str:
    return f'<path class="line {name}" d="M2 5H24"/>' + ("" if name == "reference" else _mark(name, 13, 5))
