"""What all charts of bokeh's share: their scripts inside the page, and their colours. Imports bokeh when asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bokeh.plotting import figure

INK, GRID = "#7d8590", "#7d859055"
"""Greys that can be read on white and on black."""
BLUE, ORANGE, RED = "#3b82d6", "#d9822b", "#e5484d"


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
