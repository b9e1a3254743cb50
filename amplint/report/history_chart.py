"""How many findings there were over the commits of a history, as a chart of bokeh's. Imports bokeh when asked to."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.engine.config_values import SEVERITIES
from amplint.model.records import NamedTuple
from amplint.report.charts import BLUE, ORANGE, RED, dress, put_legend_above
from amplint.report.markup import escape

_COLORS = dict(zip(SEVERITIES, (RED, ORANGE, BLUE)))
_LABELS = 12
"""Commits that are named below the chart."""


class PastCommit(NamedTuple):
    """What was found at a commit: its short name, its day (such as 2026-01-31), its subject, and findings by severity."""

    commit: str
    day: str
    subject: str
    counts: dict[str, int]


def history_chart(snapshots: Sequence[PastCommit]) -> str:
    """The chart; empty for fewer than two commits.

    Args:
        snapshots: the commits, the oldest first.
    """
    if len(snapshots) < 2:
        return ""
    from bokeh.embed import components
    from bokeh.models import BasicTicker, ColumnDataSource, HoverTool, NoOverlap
    from bokeh.plotting import figure

    order = list(range(len(snapshots)))
    columns = {name: [one.counts.get(name, 0) for one in snapshots] for name in SEVERITIES}
    told = {"commit": [one.commit for one in snapshots], "day": [one.day for one in snapshots]}
    data = ColumnDataSource({"order": order, **columns, **told})
    made = figure(
        height=300, sizing_mode="stretch_width", output_backend="canvas", tools="xpan,xwheel_zoom,reset,save",
        y_range=(0, 1.1 * max(1, *(number for numbers in columns.values() for number in numbers))),
        x_range=(-0.5, len(snapshots) - 0.5),
    )  # fmt: skip
    dress(made)
    for name, color in _COLORS.items():
        made.line("order", name, source=data, line_color=color, line_width=2, legend_label=name)
        made.scatter("order", name, source=data, size=6, color=color)
    tips = [("commit", "@commit"), ("day", "@day"), *((name, f"@{name}") for name in SEVERITIES)]
    made.add_tools(HoverTool(renderers=[made.renderers[0]], tooltips=tips, mode="vline"))
    named = order[:: max(1, -(-len(order) // _LABELS))]
    made.xaxis.ticker = named
    made.xaxis.major_label_overrides = {each: snapshots[each].day for each in named}
    made.xaxis.major_label_policy = NoOverlap()  # on a phone there is room for a few of them
    made.yaxis.ticker = BasicTicker(min_interval=1, num_minor_ticks=0)  # findings are counted in whole numbers
    put_legend_above(made)
    script, element = components(made)
    words = escape(in_words(snapshots))
    return f'<div class="chart" tabindex="0" role="img" aria-label="{words}">{element}</div>{script}\n'


def in_words(snapshots: Sequence[PastCommit]) -> str:
    """What has become of the number of findings, in words."""
    first, last = (sum(one.counts.values()) for one in (snapshots[0], snapshots[-1]))
    noun = "finding" if first == 1 else "findings"
    course = "still" if first == last else "then"
    return (
        f"{first} {noun} on {snapshots[0].day}, {course} {last} on {snapshots[-1].day}, over {len(snapshots)} commits"
    )
