"""How often each rule found something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.view import View


def _rows(diagnostics: Sequence[Diagnostic], view: View) -> list[tuple[int, str, str, int]]:
    """Count, code, name and number of fixable findings, the most frequent first."""
    counts = Counter((diagnostic.code, diagnostic.name) for diagnostic in diagnostics)
    fixable = Counter(diagnostic.code for diagnostic in diagnostics if view.applies(diagnostic.fix))
    rows = ((count, code, name, fixable[code]) for (code, name), count in counts.items())
    return sorted(rows, key=lambda row: (-row[0], row[1]))


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A table: count, code, name, and `[*]` where all findings can be fixed, `[-]` where some can."""
    rows = _rows(diagnostics, view)
    width = max((len(str(row[0])) for row in rows), default=0)
    marks = any(fixable for _, _, _, fixable in rows)
    for count, code, name, fixable in rows:
        mark = ("[*] " if fixable == count else "[-] " if fixable else "    ") if marks else ""
        yield f"{count:{width}}  {view.paint(code, 'code')}  {view.paint(mark, 'mark')}{name}\n"


def render_json(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """The same as a JSON array of objects."""
    import json

    keys = ("count", "code", "name", "fixable")
    yield json.dumps([dict(zip(keys, row)) for row in _rows(diagnostics, view)], indent=2) + "\n"
