"""The steps of a traced run as a chart of bokeh's. Imports bokeh when asked to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from amplint.model.records import NamedTuple
from amplint.report.charts import BLUE, ORANGE, RED, dress, embedded, put_legend_above
from amplint.tracing.step_record import StepRecord
from amplint.tracing.trace_record import TraceRecord

if TYPE_CHECKING:
    from bokeh.plotting import figure

_KEYS = """
document.querySelectorAll('.chart').forEach(chart => chart.addEventListener('keydown', event => {
  const range = Bokeh.documents[0].get_model_by_name('steps');
  const width = range.end - range.start;
  const shift = {ArrowLeft: -0.25, ArrowRight: 0.25}[event.key], zoom = {'+': 0.25, '-': -0.5}[event.key];
  if (shift) { range.setv({start: range.start + shift * width, end: range.end + shift * width}); }
  else if (zoom) { range.setv({start: range.start + zoom * width, end: range.end - zoom * width}); }
  else if (event.key == '0') { range.setv({start: range.reset_start, end: range.reset_end}); }
  else { return; }
  event.preventDefault();
}));
"""


class Lane(NamedTuple):
    """One of the charts that stand above each other: lines by name, with their colours."""

    title: str
    lines: tuple[tuple[str, str, Callable[[StepRecord], float | None]], ...]
    logarithmic: bool = False


_LANES = (
    Lane("scale", (("scale", BLUE, lambda step: step.scale),), True),
    Lane("loss", (("loss", BLUE, lambda step: step.loss),)),
    Lane(
        "norm of the gradients",
        (("before clipping", ORANGE, lambda step: step.unclipped), ("as used", BLUE, lambda step: step.norm)),
        True,
    ),
    Lane("learning rate", (("first group", BLUE, lambda step: step.rates[0] if step.rates else None),)),
)


def timeline(record: TraceRecord) -> str:
    """The chart; empty for a run of fewer than two steps.

    Args:
        record: the run.
    """
    if len(record.steps) < 2:
        return ""
    from bokeh.layouts import gridplot
    from bokeh.models import Range1d

    ends = [record.steps[0].number - 1, record.steps[-1].number + 1]
    together = Range1d(*ends, name="steps")
    lanes = [lane for lane in _LANES if any(_values(lane, record.steps))]
    if not lanes:
        return ""
    figures = [_figure(lane, record, together) for lane in lanes]
    _mark_defects(figures[0], lanes[0], record)
    figures[-1].xaxis.axis_label = "step"
    grid = gridplot([[one] for one in figures], sizing_mode="stretch_width", toolbar_location="right")
    return (
        f"{embedded(grid, _in_words(record))}"
        '<p class="note keys"><kbd>\N{LEFTWARDS ARROW}</kbd> <kbd>\N{RIGHTWARDS ARROW}</kbd> move, <kbd>+</kbd> '
        f"<kbd>-</kbd> zoom, <kbd>0</kbd> shows all, once the chart has the focus.</p>\n<script>{_KEYS}</script>\n"
    )


def _values(lane: Lane, steps: Sequence[StepRecord]) -> list[bool]:
    """Of each line, whether it has a value that can be drawn."""
    return [
        any((value := read(step)) is not None and math.isfinite(value) for step in steps) for _, _, read in lane.lines
    ]


def _figure(lane: Lane, record: TraceRecord, together: Any) -> figure:
    import numpy
    from bokeh.models import HoverTool
    from bokeh.plotting import figure

    logarithmic = lane.logarithmic or _is_wide(lane, record.steps)
    made = figure(
        height=170, x_range=together, y_axis_type="log" if logarithmic else "linear", output_backend="canvas",
        tools="xpan,xwheel_zoom,xbox_zoom,reset,save", active_drag="xbox_zoom", title=lane.title,
    )  # fmt: skip
    dress(made)
    numbers = numpy.array([step.number for step in record.steps], dtype="int32")
    for (name, color, read), there in zip(lane.lines, _values(lane, record.steps)):
        if there:
            values = numpy.array([_drawn(read(step), logarithmic) for step in record.steps], dtype="float32")
            named = {"legend_label": name} if len(lane.lines) > 1 else {}
            line = made.line(numbers, values, line_color=color, line_width=1.6, **named)
            made.scatter(numbers, values, size=3, color=color)
            made.add_tools(HoverTool(renderers=[line], tooltips=[("step", "@x"), (name, "@y{0.000e}")], mode="vline"))
    _mark(made, lane, record, logarithmic)
    if len(lane.lines) > 1:
        put_legend_above(made)
    return made


def _mark(made: figure, lane: Lane, record: TraceRecord, logarithmic: bool) -> None:
    """Put what happened on the first line: steps that were skipped, the first value, and where hazards came up."""
    from bokeh.models import Span

    read = lane.lines[0][2]
    skipped = [step for step in record.steps if not step.taken]
    heights = [_drawn(read(step), logarithmic) for step in skipped]
    if skipped and lane.title == "scale":
        made.scatter([step.number for step in skipped], heights, marker="x", size=9, color=RED, line_width=2)
    events = [(one.step, ORANGE) for one in record.defects]
    events += [(record.first.step, RED)] if record.first is not None else []
    for step, color in events:
        made.add_layout(Span(location=step, dimension="height", line_color=color, line_dash="dashed", line_width=1.5))


def _mark_defects(made: figure, lane: Lane, record: TraceRecord) -> None:
    """Put a mark on each step in which a defect happened."""
    seen = {step for one in record.defects for step in one.steps}
    logarithmic, read = lane.logarithmic or _is_wide(lane, record.steps), lane.lines[0][2]
    steps = [step for step in record.steps if step.number in seen]
    heights = [_drawn(read(step), logarithmic) for step in steps]
    numbers = [step.number for step in steps]
    made.scatter(numbers, heights, marker="triangle", size=8, color=ORANGE, fill_alpha=0.5, name="defects")


def _is_wide(lane: Lane, steps: Sequence[StepRecord]) -> bool:
    """Whether the values of a lane span so much that a linear scale would hide the small ones."""
    values = [value for _, _, read in lane.lines for step in steps if (value := read(step)) is not None]
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) > 100 * min(finite)


def _drawn(value: float | None, logarithmic: bool) -> float:
    """A value as the chart can show it: what is not finite is a gap."""
    if value is None or not math.isfinite(value) or (logarithmic and value <= 0):
        return math.nan
    return value


def _in_words(record: TraceRecord) -> str:
    totals = record.totals
    return f"Scale, loss, norm and learning rate over {totals.tried} steps, of which {totals.skipped} were skipped"
