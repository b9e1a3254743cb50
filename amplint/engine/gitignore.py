"""Paths against gitignore patterns, read as git reads them, in time that no pattern can drive up.

A pattern is matched name by name, with regular expressions that never go back on a star: what lies between two stars is looked
for from left to right, and the first place is as good as any later one. The same holds for `**` among names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from amplint.model.records import NamedTuple

MOST = 10_000
"""How many patterns may stand in one place."""
LONGEST = 1000
"""Characters that a pattern may have."""
_NEVER = "(?!)"
_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "digit": "0-9", "lower": "a-z", "space": r"\s", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip

_Name = Callable[[str], object]
"""Whether a name in a path fits; what it returns is true or false."""


class Pattern(NamedTuple):
    """One gitignore pattern: what it says of the paths that it matches, and whether those are folders only.

    `names` are the parts of such a path; None stands for any number of folders.
    """

    include: bool
    folders_only: bool
    names: tuple[_Name | None, ...]

    def matches(self, parts: Sequence[str], folder: bool) -> bool:
        """Whether it speaks of this very path.

        Args:
            parts: the parts of the path, relative to where the pattern stands.
            folder: whether the path is that of a folder.
        """
        if self.folders_only and not folder:
            return False
        names = self.names
        if len(names) == 2 and names[0] is None and names[1] is not None:
            return bool(names[1](parts[-1]))
        here = at = 0
        resume: tuple[int, int] | None = None
        while at < len(parts):
            name = names[here] if here < len(names) else None
            if here < len(names) and name is None:
                here += 1
                resume = (here, at)
            elif name is not None and name(parts[at]):
                here, at = here + 1, at + 1
            elif resume is not None:
                here, at = resume[0], resume[1] + 1
                resume = (here, at)
            else:
                return False
        return here == len(names)


def parse_pattern(line: str) -> Pattern | None:
    """A line of a `.gitignore` file; None when it holds no pattern.

    Raises:
        ValueError: no path can match it, or it is longer than patterns are; the message is one line.
    """
    if line.startswith("#"):
        return None
    if len(line) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line:
        return None
    include = not line.startswith("!")
    bare = line.removeprefix("!")
    folders_only = bare.endswith("/")
    bare = bare.removesuffix("/")
    anchored = "/" in bare
    texts = bare.removeprefix("/").split("/")
    if texts == [""]:
        raise ValueError(f"`{line}` matches nothing")
    names: list[_Name | None] = [] if anchored else [None]
    for text in texts:
        names.append(None if anchored and text == "**" else _name(text))
    if names[-1] is None:  # what lies in a folder, not the folder
        names.append(_name("*"))
    return Pattern(include, folders_only, tuple(names))


@lru_cache(maxsize=256)
def compiled(patterns: tuple[str, ...]) -> tuple[Pattern, ...]:
    """The patterns, the last first: it is the one that counts.

    Raises:
        ValueError: one of them is of no use, or there are too many.
    """
    if len(patterns) > MOST:
        raise ValueError(f"there are more than {MOST:,}")
    return tuple(found for found in map(parse_pattern, reversed(patterns)) if found is not None)


def is_ignored(patterns: tuple[str, ...], root: str, path: str, folder: bool = False) -> bool | None:
    """Whether the last pattern that speaks of `path` matches it (True) or spares it (False, `!pattern`); None: none speaks.

    What lies in a folder that is matched is matched with it.

    Args:
        patterns: relative to `root`, in the order in which they are written.
        root: the absolute path of the folder that they belong to.
        path: the absolute path in question.
        folder: whether it is one of a folder, of which some patterns speak only.
    """
    if not patterns:
        return None
    # Outside of the root only patterns that match anywhere can hold; the whole path keeps the anchored ones away.
    relative = path.removeprefix(root.rstrip(os.sep) + os.sep).lstrip(os.sep).replace(os.sep, "/")
    above = relative.rpartition("/")[0]
    return True if above and _holds(patterns, above) else _last(patterns, relative, folder)


@lru_cache(maxsize=256)
def _known(patterns: tuple[str, ...]) -> dict[str, bool]:
    """The folders, relative to their root, of which it is known whether they, or one above them, are matched."""
    return {"": False}


def _holds(patterns: tuple[str, ...], folder: str) -> bool:
    known = _known(patterns)
    way: list[str] = []
    while folder not in known:
        way.append(folder)
        folder = folder.rpartition("/")[0]
    held = known[folder]
    for below in reversed(way):
        known[below] = held = held or bool(_last(patterns, below, True))
    return held


def _last(patterns: tuple[str, ...], relative: str, folder: bool) -> bool | None:
    parts = relative.split("/")
    return next((one.include for one in compiled(patterns) if one.matches(parts, folder)), None)


@lru_cache(maxsize=1024)
def _name(text: str) -> _Name:
    """What one part of a pattern matches."""
    if not re.search(r"[*?\[\\]", text):
        return text.__eq__
    first, *others = _fixed(text)
    if not others:
        return re.compile(first, re.DOTALL).fullmatch
    *inner, last = others
    # A group in a lookahead is not entered again: it is Python's word for never going back.
    steps = "".join(f"(?=(?P<g{n}>.*?{piece}))(?P=g{n})" for n, piece in enumerate(filter(None, inner)))
    return re.compile(f"{first}{steps}.*{last}", re.DOTALL).fullmatch


def _fixed(text: str) -> list[str]:
    """What stands before, between and behind the stars, as regular expressions of a fixed length."""
    pieces = [""]
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            pieces.append("")
            continue
        if character == "?":
            piece = "."
        elif character == "[":
            piece, at = _class(text, at)
        elif character == "\\":
            piece = re.escape(text[at]) if at < len(text) else _NEVER
            at += 1
        else:
            piece = re.escape(character)
        pieces[-1] += piece
    return pieces


def _class(text: str, at: int) -> tuple[str, int]:
    """The class of characters that begins behind a bracket, and where it ends."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    members, begun = "", at
    while at < len(text) and (text[at] != "]" or at == begun):
        posix = re.compile(r"\[:(\w*):\]").match(text, at)
        if posix:
            members += _POSIX.get(posix[1], "")
            at = posix.end()
            continue
        low, at = _member(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(text, at + 1)
        if low <= high:
            members += f"{re.escape(low)}-{re.escape(high)}"
    if at >= len(text):
        return _NEVER, at
    if not members:
        return ("." if negated else _NEVER), at + 1
    return f"[{'^' * negated}{members}]", at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return text[at], at + 1


def rebase(patterns: Sequence[str], written_in: str, root: str) -> tuple[str, ...]:
    """Patterns that were written relative to one folder, made relative to another; absolute paths, as shells complete them,
    may lie below either.

    Args:
        patterns: as they are written.
        written_in: the absolute path of the folder that they are relative to.
        root: the absolute path of the folder that they shall be relative to.
    """
    moved = (_rebase(pattern, written_in, root) for pattern in patterns)
    return tuple(pattern for pattern in moved if pattern is not None)


def _rebase(pattern: str, written_in: str, root: str) -> str | None:
    bare = pattern.removeprefix("!")
    negated = pattern[: len(pattern) - len(bare)]
    bare = "/" + bare[2:] if bare.startswith("./") else bare
    if len(root) > 1 and bare.startswith(f"{root}/"):
        return negated + bare[len(root) :]
    if len(written_in) > 1 and bare.startswith(f"{written_in}/"):
        bare = bare[len(written_in) :]
    anchored = "/" in bare.rstrip("/") and not bare.startswith("**/")
    if written_in == root or not anchored:
        return negated + bare
    parts = bare.lstrip("/").split("/")
    way = os.path.relpath(written_in, root).split(os.sep)
    if os.pardir not in way:  # the root lies above
        return negated + "/" + "/".join([*way, *parts])
    way = os.path.relpath(root, written_in).split(os.sep)
    leads = len(parts) > len(way) and all(fnmatchcase(name, part) for name, part in zip(way, parts))
    return negated + "/" + "/".join(parts[len(way) :]) if leads else None
