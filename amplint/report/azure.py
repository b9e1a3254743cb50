"""Logging commands, from which Azure Pipelines makes errors and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.engine.severity import ERROR, severity
from amplint.report.escape import printable
from amplint.report.places import file_place, portable
from amplint.report.view import View


def _data(text: str) -> str:
    return printable(text).replace("%", "%AZP25")


def _property(text: str) -> str:
    return _data(text).replace(";", "%3B").replace("]", "%5D")


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A `task.logissue` command for each finding; Azure Pipelines knows nothing below a warning."""
    for one in diagnostics:
        place = file_place(one.range, one.path, view)
        fields = {
            "type": "error" if severity(one) == ERROR else "warning",
            "sourcepath": _property(portable(one.path)),
            "linenumber": str(place.row),
            **({"columnnumber": str(place.column)} if place.column else {}),
            "code": _property(one.code),
        }
        properties = ";".join(f"{name}={value}" for name, value in fields.items())
        yield f"##vso[task.logissue {properties};]{_data(one.message)}\n"
