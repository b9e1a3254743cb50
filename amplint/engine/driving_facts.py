"""What files say to each other, as facts of a run, about classes that a library drives because of what one of them makes."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

from amplint.diagnostics import Diagnostic

_DRIVES = "drives "
_BY = " by "


def drives(path: str, name: str = "") -> str:
    """The fact that a library drives objects of a class, or of any class of a file, in float16.

    Args:
        path: the file that defines the class.
        name: the class; empty for any.
    """
    return f"{_DRIVES}{os.path.realpath(path)} {name}"


def stated_at(fact: str, place: str) -> str:
    """The fact that another one is so because of what stands at a place.

    Args:
        fact: a fact of `drives`.
        place: file and row.
    """
    return f"{fact}{_BY}{place}"


def with_place(diagnostic: Diagnostic, facts: Collection[str]) -> Diagnostic:
    """A finding that rests on what another file makes, with the name of that; any other one as it is.

    Args:
        diagnostic: the finding.
        facts: what the files of the run establish.
    """
    needed = next((need for need in sorted(diagnostic.needs) if need.startswith(_DRIVES)), "")
    places = sorted(
        fact.partition(f"{needed}{_BY}")[2] for fact in facts if needed and fact.startswith(f"{needed}{_BY}")
    )
    if not places:
        return diagnostic
    note = f"{places[0]} makes what runs this in float16"
    return replace(diagnostic, note=f"{diagnostic.note.rstrip('.')}; {note}" if diagnostic.note else note)
