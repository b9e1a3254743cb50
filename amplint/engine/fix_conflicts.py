"""Which fixes stand in each other's way: edits that touch, and a name that one mentions and the other takes away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amplint.diagnostics import Edit
from amplint.model.records import NamedTuple

_STRING = re.compile(r"""(?<![\w"'])[rRbBuU]{0,2}(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|#[^\r\n]*""")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"^[ \t]*(?:from\b[^;\n]*?\bimport\b|import\b)", re.MULTILINE)
_END = re.compile(r"(?<!\\)[\r\n;]")
_TARGET = re.compile(r"^[ \t]*([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)


class Claims(NamedTuple):
    """What a fix wants of the text: its edits, the names that it mentions anew, and those whose bindings it takes away.

    `moved` are the insertions of what it takes out elsewhere: those belong to it alone.
    """

    edits: tuple[Edit, ...]
    mentions: frozenset[str]
    removes: frozenset[str]
    moved: frozenset[Edit] = frozenset()


def claims(text: str, edits: tuple[Edit, ...]) -> Claims:
    """What the edits of one fix want of a text.

    Args:
        text: the text as it stands.
        edits: those of the fix.
    """
    written = "\n".join(edit.replacement for edit in edits)
    mentions = {name for edit in edits for name in _names(edit.replacement) - _names(text[edit.start : edit.end])}
    removed = {name for edit in edits for name in _bound(text[edit.start : edit.end]) - _bound(edit.replacement)}
    taken_out = {text[edit.start : edit.end].strip() for edit in edits} - {""}
    moved = frozenset(edit for edit in edits if edit.start == edit.end and edit.replacement.strip() in taken_out)
    return Claims(edits, frozenset(mentions), frozenset(removed - _bound(written)), moved)


class Taken:
    """The edits of the fixes that are applied together."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self._mentions: set[str] = set()
        self._removes: set[str] = set()

    def takes(self, wanted: Claims) -> bool:
        """Take a fix in, unless it stands in the way of those taken.

        An insertion in common keeps none of them back: an import is made once, equal statements that move to one place all
        get there. Nor does what another fix takes out, or moves, in just the same way, where this one does more.
        """
        new = [edit for edit in wanted.edits if edit not in self.edits]
        own = [edit for edit in wanted.edits if edit.start < edit.end or edit in wanted.moved]
        if not new or any(edit in new for edit in own):
            new = [edit for edit in wanted.edits if edit in new or edit in own]
        if any(
            _touch(edit, other) for edit in new for other in self.edits if edit != other or edit not in wanted.moved
        ):
            return False
        if self._removes & wanted.mentions or wanted.removes & self._mentions:
            return False
        self.edits.extend(new)
        self._mentions |= wanted.mentions
        self._removes |= wanted.removes
        return True


def stutters(text: str, edits: Sequence[Edit]) -> bool:
    """Whether edits that only insert would insert what stands right there already: such a fix is blind to what it has done.

    Args:
        text: the text as it stands.
        edits: those of one fix, in order.
    """
    return all(edit.start == edit.end for edit in edits) and any(_repeats(text, edit) for edit in edits)


def _repeats(text: str, edit: Edit) -> bool:
    said = edit.replacement.strip()
    if len(said) < 2 or not _WORD.search(said):
        return False
    exact = re.compile(
        rf"(?<![\w.]){re.escape(said)}(?![\w.])" if said[0].isalnum() else rf"{re.escape(said)}(?![\w.])"
    )
    before, after = text[: edit.start].rstrip(), text[edit.end :]
    behind = exact.match(after, len(after) - len(after.lstrip()))
    return behind is not None or exact.match(before, max(0, len(before) - len(said))) is not None


def _touch(one: Edit, other: Edit) -> bool:
    return one.start <= other.end and other.start <= one.end


def _names(code: str) -> set[str]:
    """The names that a piece of code mentions, attributes and plain strings left out."""
    return set(_NAME.findall(_STRING.sub('""', code)))


def _bound(code: str) -> set[str]:
    """The names that the imports and plain assignments in a piece of code may bind."""
    code = _STRING.sub("", code)
    bound = set(_TARGET.findall(code))
    for found in _IMPORT.finditer(code):
        rest = code[found.end() :]
        names = rest.partition(")")[0] if rest.lstrip().startswith("(") else _END.split(rest, maxsplit=1)[0]
        bound.update(_WORD.findall(names))
    return bound
