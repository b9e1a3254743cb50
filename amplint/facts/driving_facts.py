"""Facts that one file of a run states about classes of another: what runs them in float16, or calls them as hooks."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

from amplint.diagnostics import Diagnostic

_DRIVES = "drives "
_CALLS_BACK = "calls back "
_BY = " by "
_MEANING = {
    _DRIVES: "makes what runs this in float16",
    _CALLS_BACK: "makes this for what steps through a scaler",
}


def drives(path: str, name: str = "") -> str:
    """The fact that a library drives objects of a class, or of any class of a file, in float16.

    Args:
        path: the file that defines the class.
        name: the class; empty for any.
    """
    return f"{_DRIVES}{os.path.realpath(path)} {name}"


def calls_back(path: str, name: str) -> str:
    """The fact that what steps through a scaler makes a hook of a class, and calls that back.

    Args:
        path: the file that defines the class.
        name: the class.
    """
    return f"{_CALLS_BACK}{os.path.realpath(path)} {name}"


def stated_at(fact: str, place: str) -> str:
    """The fact that another one is so because of what stands at a place.

    Args:
        fact: a fact of `drives`, or of `calls_back`.
        place: file and row.
    """
    return f"{fact}{_BY}{place}"


def with_place(diagnostic: Diagnostic, facts: Collection[str]) -> Diagnostic:
    """A finding that rests on what another file makes, with the name of that; any other one as it is.

    Args:
        diagnostic: the finding.
        facts: what the files of the run establish.
    """
    needs = ((need, word) for need in sorted(diagnostic.needs) for word in _MEANING if need.startswith(word))
    needed, word = next(needs, ("", ""))
    places = sorted(
        fact.partition(f"{needed}{_BY}")[2] for fact in facts if needed and fact.startswith(f"{needed}{_BY}")
    )
    if not places:
        return diagnostic
    note = f"{places[0]} {_MEANING[word]}"
    return replace(diagnostic, note=f"{diagnostic.note.rstrip('.')}; {note}" if diagnostic.note else note)
