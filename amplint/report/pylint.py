"""Pylint's line, which Jenkins and others parse: `path:row: [CODE(name), ] message`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.escape import printable
from amplint.report.places import file_place, portable
from amplint.report.view import View


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A line for each finding; between the brackets pylint also names the object, and amplint none."""
    for one in diagnostics:
        row = file_place(one.range, one.path, view).row
        yield f"{printable(portable(one.path))}:{row}: [{one.code}({one.name}), ] {printable(one.message)}\n"
