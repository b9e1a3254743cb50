"""The comparison of modes as charts of bokeh's: times with their spread, memory, and the course of the losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from amplint.profile.profile_record import ModeSummary, ProfileRecord
from amplint.report.charts import BLUE, INK, ORANGE, RED, dress, embedded, put_legend_above
from amplint.runtime.device_names import EMULATED

if TYPE_CHECKING:
    from bokeh.plotting import figure

_COLOURS = {"float32": INK, "tf32": "#3fa45b", "float16": ORANGE, "bfloat16": BLUE}


def charts(record: ProfileRecord) -> str:
    """The charts of a profile; empty where nothing was measured.

    Args:
        record: the profile.
    """
    from bokeh.layouts import column

    measured = [one for one in record.modes if one.steps]
    if not measured:
        return ""
    figures = [] if record.device == EMULATED else [_times(measured)]
    figures.append(_memory(measured))
    if any(one.losses for one in measured):
        figures.append(_losses(measured, record))
    words = f"Times, memory and losses of {', '.join(one.mode for one in measured)}"
    return embedded(column(figures, sizing_mode="stretch_width"), words)


def _figure(title: str, **more: Any) -> figure:
    from bokeh.plotting import figure

    made = figure(
        height=190, sizing_mode="stretch_width", output_backend="canvas", tools="reset,save", title=title, **more
    )
    dress(made)
    return made


def _bars(title: str, modes: list[ModeSummary]) -> figure:
    """A figure with room for a bar of each mode, the first on top."""
    made = _figure(title, y_range=[one.mode for one in modes][::-1])
    made.x_range.start = 0
    return made


def _times(modes: list[ModeSummary]) -> figure:
    """The middle half of the times of each mode as a bar, with the median across it."""
    made = _bars("ms of a step: middle half, median", modes)
    for one in modes:
        assert one.low is not None and one.high is not None and one.median is not None
        low, high, median = 1000 * one.low, 1000 * one.high, 1000 * one.median
        made.hbar(y=[one.mode], left=[low], right=[high], height=0.5, color=_COLOURS[one.mode], alpha=0.55)
        made.scatter(
            x=[median], y=[one.mode], marker="dash", angle=math.pi / 2, size=40, line_width=3, color=_COLOURS[one.mode]
        )
    return made


def _memory(modes: list[ModeSummary]) -> figure:
    """What each mode held at its peak, and for the backward pass."""
    made = _bars("MB: at the peak; narrow: kept", modes)
    for one in modes:
        for bytes_, height, alpha in ((one.peak, 0.6, 0.35), (one.kept, 0.3, 0.9)):
            if bytes_:
                made.hbar(
                    y=[one.mode], left=0, right=[bytes_ / 1e6], height=height, color=_COLOURS[one.mode], alpha=alpha
                )
    return made


def _losses(modes: list[ModeSummary], record: ProfileRecord) -> figure:
    """The losses of the first turns, and of float32 with other seeds in thin lines."""
    made = _figure("loss by step; thin: float32 with other seeds")
    for turn in record.turns:
        if turn.mode == modes[0].mode and turn.round:
            made.line([*range(1, len(turn.losses) + 1)], _drawn(turn.losses), color=_COLOURS[turn.mode], line_width=0.7)
    for one in modes:
        steps = [*range(1, len(one.losses) + 1)]
        made.line(steps, _drawn(one.losses), color=_COLOURS[one.mode], line_width=1.8, legend_label=one.mode)
        lost = [step for step, loss in zip(steps, one.losses) if not math.isfinite(loss)]
        made.scatter(lost, [0.0] * len(lost), marker="x", size=8, color=RED)
    made.xaxis.axis_label = "step"
    put_legend_above(made)
    return made


def _drawn(losses: tuple[float, ...]) -> list[float]:
    return [loss if math.isfinite(loss) else math.nan for loss in losses]
