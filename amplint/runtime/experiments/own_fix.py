"""What a template says of a repair: it stands for amplint's own fix, and for nothing that differs from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.rule import File
from amplint.runtime.changes import changes, function_at, inside

_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"`([^`]*)`")
_COMMON = frozenset(
    ("self", "torch", "optimizer", "model", "loss", "cuda", "if", "is", "not", "None", "for", "in", "with")
)
"""Words that say little about what a statement is about."""


def other_than_own_fix(before: File, after: File, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The statements in which a repair is not amplint's own fix, each as one line.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding, with amplint's own fix.
    """
    own, _ = apply(before.source, [diagnostic])
    return tuple(dict.fromkeys(each.text for each in changes(own, after.source.text)))


def not_in_patch(before: File, after: File, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The statements that somebody's patch changes for other reasons, as far as the finding has to do with them.

    Those are the statements of the function that it stands in, and of those in which amplint's own fix would do something, that
    name nothing of what the fix, or the finding, names.

    Args:
        before: the file as it stands.
        after: the file with the patch.
        diagnostic: the finding, with amplint's own fix if there is one.
    """
    old, new = before.source.text, after.source.text
    edits = diagnostic.fix.edits if diagnostic.fix is not None else ()
    rows = [diagnostic.range.start.row, *(before.source.position(each.start).row for each in edits)]
    found = inside(changes(old, new), old, new, {function_at(old, row) for row in rows} - {""})
    named = {*_words(each.replacement for each in edits), *_words(_QUOTED.findall(diagnostic.message))} - _COMMON
    return tuple(dict.fromkeys(each.text for each in found if not named.intersection(_words([each.text]))))


def _words(texts: Iterable[str]) -> Iterator[str]:
    return (word for text in texts for word in _WORD.findall(text))
