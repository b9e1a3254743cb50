"""What all charts of bokeh's share: their scripts inside the page, and their colours. Imports bokeh when asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amplint.report.markup import escape

if TYPE_CHECKING:
    from bokeh.plotting import figure

INK, GRID = "#7d8590", "#7d859055"
"""Greys that can be read on white and on black."""
BLUE, ORANGE, RED = "#3b82d6", "#d9822b", "#e5484d"

_PRINTED = """
const dress = style => document.querySelectorAll('.chart').forEach(chart => Object.assign(chart.style, style(chart)));
addEventListener('beforeprint', () => dress(chart => (
  {width: `${chart.offsetWidth}px`, zoom: Math.min(1, 660 / chart.offsetWidth)})));
addEventListener('afterprint', () => dress(() => ({width: '', zoom: ''})));
"""
"""Charts are drawn for the width of the window, and not once more for that of paper (660 pixels of A4): they are made smaller."""


def scripts() -> str:
    """The elements with bokeh's own script."""
    from bokeh.resources import Resources

    return str(Resources(mode="inline", components=["bokeh"]).render_js())


def dress(made: figure) -> None:
    """Give a chart colours that can be read on white and on black."""
    made.background_fill_color = made.border_fill_color = made.outline_line_color = None
    made.title.text_color = INK
    made.grid.grid_line_color = GRID
    made.axis.axis_line_color = made.axis.major_tick_line_color = made.axis.minor_tick_line_color = GRID
    made.axis.major_label_text_color = made.axis.axis_label_text_color = INK
    made.toolbar.logo = None
    made.min_border_left = 70


def put_legend_above(made: figure) -> None:
    """Name the lines of a chart above it, where they cover nothing."""
    legend = made.legend[0]
    made.add_layout(legend, "above")
    legend.orientation, legend.location = "horizontal", "right"
    legend.padding = legend.margin = 0
    legend.background_fill_alpha = legend.border_line_alpha = 0
    legend.label_text_color, legend.label_text_font_size = INK, "11px"


def embedded(layout: Any, words: str) -> str:
    """Charts as an element of a page that can be reached by the keyboard, read aloud, and printed.

    Args:
        layout: bokeh's column or grid of charts.
        words: what they show.
    """
    from bokeh.embed import components
    from bokeh.models import InlineStyleSheet, Toolbar

    for one in layout.select({"type": Toolbar}):
        one.stylesheets = [InlineStyleSheet(css="@media print { :host { display: none; } }")]
    script, element = components(layout)
    return (
        f'<div class="chart" tabindex="0" role="img" aria-label="{escape(words)}">{element}</div>{script}'
        f"<script>{_PRINTED}</script>\n"
    )
