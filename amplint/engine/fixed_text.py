"""The text that fixes make of a file: as many as can stand together, and none that leaves it worse than it was."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from amplint.diagnostics import Diagnostic, Edit
from amplint.engine.fix_conflicts import Taken, claims, stutters
from amplint.python_ast.gate import is_python
from amplint.source import Source

_TOP_LEVEL_AWAIT = 0x2000
"""`ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`, without the cost of that module: a notebook may await outside of functions."""
_LINE_END = re.compile(r"\r\n|\r|\n")

_BREAKS = "would break the file"
_AGAIN = "would do again what stands there already"

Harm = set[tuple[str, str]]
"""Codes of rules, each with the harm that a fix of theirs would do."""


def flaw(diagnostic: Diagnostic, source: Source) -> str:
    """What is wrong with a fix, before it is tried; empty for nothing.

    Args:
        diagnostic: the finding that it belongs to.
        source: the text that it is for.
    """
    places = [place for edit in edits_of(diagnostic) for place in (edit.start, edit.end)]
    if places != sorted(places) or places[0] < 0 or places[-1] > len(source.text):
        return _BREAKS
    return _AGAIN if stutters(source.text, edits_of(diagnostic)) else ""


def apply_harmless(source: Source, wanted: list[Diagnostic], harm: Harm) -> tuple[str, list[Diagnostic]]:
    """Apply as many fixes as can stand together and do no harm.

    Args:
        source: the text as it stands.
        wanted: findings with fixes, the most important first.
        harm: is added what the others would do.

    Returns:
        The new text, and the diagnostics whose fixes are in it.
    """
    text, used = apply(source, wanted)
    if not used or not _damage(source, text):
        return text, used
    text, used = source.text, []
    for diagnostic in wanted:
        attempt, together = apply(source, [*used, diagnostic])
        if len(together) == len(used):
            continue  # stands in the way of one of the others: its turn comes in the next round
        damage = _damage(source, attempt)
        if damage:
            harm.add((diagnostic.code, damage))
        else:
            text, used = attempt, together
    return text, used


def apply(source: Source, wanted: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """Apply fixes to a text, each of them whole or not at all, and none that stands in the way of one before it.

    So does one that touches it, and one that mentions a name whose binding the other takes away. An insertion that several
    fixes have in common, such as an import, is made once and keeps none of them back.

    Args:
        source: the text as it stands.
        wanted: findings with fixes, the most important first.

    Returns:
        The new text, and the diagnostics whose fixes are in it.
    """
    taken = Taken()
    used = [each for each in wanted if taken.takes(claims(source.text, edits_of(each)))]
    parts: list[str] = []
    end = 0
    for edit in sorted(taken.edits):
        parts += [source.text[end : edit.start], _dressed(edit.replacement, source.newline)]
        end = edit.end
    return "".join([*parts, source.text[end:]]), used


def edits_of(diagnostic: Diagnostic) -> tuple[Edit, ...]:
    """The edits of a finding's fix in the order of their places; none without a fix."""
    return tuple(sorted(diagnostic.fix.edits)) if diagnostic.fix else ()


def _dressed(replacement: str, newline: str) -> str:
    return replacement if newline == "\n" else _LINE_END.sub(newline, replacement)


def compiles(text: str) -> bool:
    """Whether Python accepts a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<fixed>", "exec", _TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _damage(source: Source, text: str) -> str:
    """What an edited text is worse in than the one it was made from: it does not compile, or parse, it is no longer that of the
    same notebook, or it leaves a name unbound; empty for nothing."""
    if source.notebook is not None:
        from amplint.notebook import CellsCrossed  # few files are notebooks

        try:
            source.notebook.edited(text)
        except CellsCrossed:
            return _BREAKS
    if not compiles(text):
        if compiles(source.text) or is_python(source.text) and not is_python(text):
            return _BREAKS
        if not is_python(text):
            return ""
    from amplint.python_ast.definite_assignment import newly_unbound  # only what is fixed needs it

    names = ", ".join(f"`{name}`" for name in newly_unbound(source.text, text))
    return f"would leave {names} unbound" if names else ""
