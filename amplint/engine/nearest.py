"""What somebody may have meant who wrote a word that means nothing."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"[A-Za-z]+\d+")


def nearest(word: str, valid: list[str], likeness: float = 0.5) -> str:
    """What to add to a complaint about a word: "; did you mean `x`?", or nothing when no valid word is near.

    The code of a rule is never guessed from another one: their numbers say nothing of what they are near to in meaning.

    Args:
        word: what somebody wrote.
        valid: what they may have meant.
        likeness: how like the word the other must be, from 0 to 1.
    """
    import difflib

    if _NUMBERED.fullmatch(word):
        return ""
    near = difflib.get_close_matches(word.lower(), [name.lower() for name in valid], 1, likeness)
    return next((f"; did you mean `{name}`?" for name in valid if near and name.lower() == near[0]), "")
