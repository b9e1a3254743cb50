"""What a template says of a repair: it stands for amplint's own fix, and for nothing that differs from it."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.rule import File
from amplint.runtime.changes import changes


def other_than_own_fix(before: File, after: File, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The statements in which a repair is not amplint's own fix, each as one line.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding, with amplint's own fix.
    """
    own, _ = apply(before.source, [diagnostic])
    return tuple(dict.fromkeys(each.text for each in changes(own, after.source.text)))
