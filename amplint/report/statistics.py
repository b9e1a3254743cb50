"""How often each rule found something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.view import View

PARTLY = "functions with more paths than were told apart (`--verbose` names them)"


def _rows(diagnostics: Sequence[Diagnostic], view: View) -> list[tuple[int, str, str, int]]:
    """Count, code, name and number of fixable findings, the most frequent first."""
    counts = Counter((diagnostic.code, diagnostic.name) for diagnostic in diagnostics)
    fixable = Counter(diagnostic.code for diagnostic in diagnostics if view.applies(diagnostic.fix))
    rows = ((count, code, name, fixable[code]) for (code, name), count in counts.items())
    return sorted(rows, key=lambda row: (-row[0], row[1]))


def render(diagnostics: Sequence[Diagnostic], view: View, partly: int = 0) -> Iterator[str]:
    """A table: count, code, name, and `[*]` where all findings can be fixed, `[-]` where some can.

    Args:
        diagnostics: what was found.
        view: how it is to be shown.
        partly: the number of functions whose paths were not all told apart.
    """
    rows = _rows(diagnostics, view)
    width = max((len(str(row[0])) for row in rows), default=0)
    marks = any(fixable for _, _, _, fixable in rows)
    for count, code, name, fixable in rows:
        mark = ("[*] " if fixable == count else "[-] " if fixable else "    ") if marks else ""
        yield f"{count:{width}}  {view.paint(code, 'code')}  {view.paint(mark, 'mark')}{name}\n"
    if partly:
        yield f"{partly:{width}}  {PARTLY}\n"


def render_json(diagnostics: Sequence[Diagnostic], view: View, partly: int = 0) -> Iterator[str]:
    """The same as a JSON array of objects; that of the functions has no code.

    Args:
        diagnostics: what was found.
        view: tells which fixes would be applied.
        partly: the number of functions whose paths were not all told apart.
    """
    import json

    keys = ("count", "code", "name", "fixable")
    rows: list[tuple[int, str | None, str, int]] = [*_rows(diagnostics, view)]
    if partly:
        rows.append((partly, None, PARTLY, 0))
    yield json.dumps([dict(zip(keys, row)) for row in rows], indent=2) + "\n"
