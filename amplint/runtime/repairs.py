"""Repairs that are replayed: a file before and after, and the finding that is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from amplint.diagnostics import Diagnostic, Fix
from amplint.engine.fixed_text import apply
from amplint.runtime.text_edits import edits_between
from amplint.source import Source


class FixableFinding(NamedTuple):
    """A finding that has a fix, and the file it is about."""

    source: Source
    diagnostic: Diagnostic


class Repair(NamedTuple):
    """A file before and after a repair of one finding, whoever wrote it.

    Attributes:
        before: the file with the finding.
        after: the file with the repair.
        diagnostic: the finding, as it is in `before`.
        neighbours: the other findings in `before`, whose fixes may be applied before and after, where they hide what it does.
        patched: whether the repair is the work of somebody else, and not the fix of `diagnostic`.
        remaining: the findings that such a repair leaves in `after`.
    """

    before: Source
    after: Source
    diagnostic: Diagnostic
    neighbours: tuple[Diagnostic, ...] = ()
    patched: bool = False
    remaining: tuple[Diagnostic, ...] = ()

    def with_fixes(self, neighbours: Sequence[Diagnostic]) -> Source | None:
        """The repaired file with the fixes of neighbours besides; None where they cannot stand together."""
        if self.patched:
            names = {one.name for one in neighbours}
            text, _ = apply(self.after, [one for one in self.remaining if one.fix is not None and one.name in names])
            return replace(self.after, text=text)
        repair = replace(self.diagnostic, fix=Fix("", tuple(edits_between(self.before.text, self.after.text))))
        text, together = apply(self.before, [*neighbours, repair])
        return replace(self.before, text=text) if len(together) > len(neighbours) else None


def own_repair(finding: FixableFinding, in_file: Sequence[Diagnostic]) -> Repair:
    """The repair that the fix of a finding is.

    Args:
        finding: the finding.
        in_file: all findings with fixes in its file.
    """
    source, diagnostic = finding
    fixed, _ = apply(source, [diagnostic])
    return Repair(source, replace(source, text=fixed), diagnostic, tuple(one for one in in_file if one != diagnostic))
