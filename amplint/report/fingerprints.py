"""What a finding is recognized by after lines were added or removed above it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.places import portable
from amplint.report.view import View


def fingerprints(diagnostics: Sequence[Diagnostic], view: View) -> list[str]:
    """A fingerprint for each finding, in their order: of its code, its file, its line without the indent, and how many equal
    ones come before.

    Args:
        diagnostics: the findings of a run, in order.
        view: knows the texts.
    """
    seen: Counter[str] = Counter()
    found: list[str] = []
    for diagnostic in diagnostics:
        source = view.source(diagnostic.path)
        line = "" if source is None else source.line(diagnostic.range.start.row)
        content = "\0".join((diagnostic.code, portable(diagnostic.path), *line.split()))
        data = f"{content}\0{seen[content]}".encode("utf-8", "backslashreplace")
        found.append(hashlib.sha256(data).hexdigest()[:32])
        seen[content] += 1
    return found
