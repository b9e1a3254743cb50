"""Findings as text: one module per output format, each with a function `render`.

Args:
    diagnostics: what was found, in order.
    view: how it is to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amplint.diagnostics import Diagnostic
    from amplint.report.view import View

    Render = Callable[[Sequence[Diagnostic], View], Iterator[str]]

FORMATS = {"concise": "concise", "full": "full", "json": "json_array", "jsonl": "json_lines", "github": "github"}
"""The module of each output format."""


def renderer(name: str) -> Render:
    """The `render` of an output format of `FORMATS`: from findings, in order, to the text of the report, in pieces."""
    render: Render = import_module(f"amplint.report.{FORMATS[name]}").render
    return render
