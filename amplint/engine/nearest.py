"""What somebody may have meant who wrote a word that means nothing."""

from __future__ import annotations

import re

_LIKENESS = 0.7
"""How like a word its neighbours are, from 0 to 1: nothing is to be said rather than nonsense."""
_ADDING = re.compile("^(--|)(?:extend|force)-")
"""What other linters begin the name of an option or a setting with that adds, as some do here under their plain name."""
_NUMBERED = re.compile(r"([A-Za-z]*)[-_ ]?(\d\w*)")
_LOOKS_LIKE = str.maketrans("OIL", "011")


def nearest(word: str, valid: list[str]) -> str:
    """What to add to a complaint about a word: "; did you mean `x`?", or nothing when no valid word is near.

    The code of a rule is not guessed from a number that is near, which says nothing of the meaning, but from one that is the same
    but for its dress: `AMP-101`, `101`, `AMP1O1`. Any other word is near one that is spelled much like it, or that it is a
    part of (`torch` is near `torch-version`), or that it is a variant of in other linters (`extend-exclude`).

    Args:
        word: what somebody wrote.
        valid: what they may have meant.
    """
    import difflib

    adding = _ADDING.sub(r"\1", word.lower())
    if adding != word.lower() and adding in valid:
        near = [adding]
    elif _NUMBERED.fullmatch(word):
        letters, number = _undressed(word)
        near = [name for name in valid if _undressed(name) == (letters or _undressed(name)[0], number)]
    else:
        plain = {_plain(name): name for name in reversed(valid)}
        close = difflib.get_close_matches(_plain(word), plain, 1, _LIKENESS)
        near = [plain[name] for name in close] or _in_part(word.lower(), [name.lower() for name in valid])
    return next((f"; did you mean `{name}`?" for name in valid if near and name.lower() == near[0].lower()), "")


def _plain(word: str) -> str:
    return re.sub("[-_]", "", word.lower())


def _in_part(word: str, names: list[str]) -> list[str]:
    """The names of which a word is a part, or that are a part of it: of words between dashes, not of letters."""
    parts = set(re.split("[-_]", word))
    return [name for name in names if parts <= set(name.split("-")) or set(name.split("-")) <= parts]


def _undressed(code: str) -> tuple[str, str]:
    """The letters and the number of a code; of what is none, nothing."""
    match = _NUMBERED.fullmatch(code.upper())
    return (match[1], match[2].translate(_LOOKS_LIKE)) if match else ("", "")
