"""Edits that make one text another."""

from __future__ import annotations

from difflib import SequenceMatcher
from os.path import commonprefix

from amplint.diagnostics import Edit


def edits_between(before: str, after: str) -> list[Edit]:
    """Edits that make one text the other, as small as whole lines and their common ends let them be.

    Args:
        before: the one text.
        after: the other one.
    """
    mine, theirs = before.splitlines(keepends=True), after.splitlines(keepends=True)
    edits: list[Edit] = []
    for tag, start, end, there, until in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old, new = "".join(mine[start:end]), "".join(theirs[there:until])
        head = len(commonprefix((old, new)))
        tail = len(commonprefix((old[head:][::-1], new[head:][::-1])))
        offset = len("".join(mine[:start]))
        edits.append(Edit(offset + head, offset + len(old) - tail, new[head : len(new) - tail]))
    return edits
