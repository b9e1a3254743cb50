"""Workflow commands, from which GitHub makes annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.engine.severity import ERROR, INFO, WARNING, severity
from amplint.report.escape import printable
from amplint.report.places import FilePlace, file_place
from amplint.report.view import View

_COMMAND = {ERROR: "error", WARNING: "warning", INFO: "notice"}


def _data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _fields(place: FilePlace) -> dict[str, str]:
    names = ("line", "col", "endLine", "endColumn")
    return {name: str(number) for name, number in zip(names, place) if number is not None}


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A command for each finding; the message repeats the place, for the log is read without annotations."""
    for diagnostic in diagnostics:
        path = diagnostic.path.replace(os.sep, "/")
        place = _fields(file_place(diagnostic.range, diagnostic.path, view))
        fields = {"title": f"amplint ({diagnostic.code})", "file": path, **place}
        properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
        text = f"{path}:{diagnostic.range.start}: {diagnostic.code} {diagnostic.message}"
        yield f"::{_COMMAND[severity(diagnostic)]} {properties}::{_data(text)}\n"
