"""Findings as text: one module per output format, each with a function `render`.

Args:
    diagnostics: what was found, in order.
    view: how it is to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from amplint.model.records import NamedTuple

if TYPE_CHECKING:
    from amplint.diagnostics import Diagnostic
    from amplint.report.view import View

    Render = Callable[[Sequence[Diagnostic], View], Iterator[str]]


class Format(NamedTuple):
    """An output format: the module that renders it, and for whom.

    `for_people`: it is read, not parsed. `counts`: it has a form for statistics. `is_document`: whoever parses it wants
    something to parse when nothing was found, too.
    """

    module: str
    for_people: bool = False
    counts: bool = False
    is_document: bool = False


FORMATS = {
    "concise": Format("concise", for_people=True, counts=True),
    "full": Format("full", for_people=True, counts=True),
    "grouped": Format("grouped", for_people=True, counts=True),
    "json": Format("json_array", counts=True, is_document=True),
    "jsonl": Format("json_lines", counts=True),
    "sarif": Format("sarif", is_document=True),
    "github": Format("github"),
    "gitlab": Format("gitlab", is_document=True),
    "azure": Format("azure"),
    "junit": Format("junit", is_document=True),
    "pylint": Format("pylint"),
    "rdjson": Format("rdjson", is_document=True),
    "markdown": Format("markdown", is_document=True),
}
"""The output formats, as the user calls them."""


def renderer(name: str) -> Render:
    """The `render` of an output format of `FORMATS`: from findings, in order, to the text of the report, in pieces."""
    render: Render = import_module(f"amplint.report.{FORMATS[name].module}").render
    return render
