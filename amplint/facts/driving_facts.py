"""Facts that one file of a run states about classes of another: what runs them in float16; and those about classes that files
which are led to together know only by the names of their methods, as hooks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from amplint.diagnostics import FLOAT16_TRAINING, MIXED_PRECISION, TRAINING, Diagnostic

_DRIVES = "drives "
_CALLS_BACK = "calls back "
_IN_TURN = "in turn "
_TRAINS = "trains "
_REPEATS = "repeats "
_BY = " by "
_IN = " in "
_MEANING = {
    _DRIVES: "makes what runs this in float16",
    _CALLS_BACK: "steps through a scaler, and calls this back",
    _IN_TURN: "steps through the scaler",
    _TRAINS: "steps the optimizer through a scaler",
    _REPEATS: "calls this in a loop",
    FLOAT16_TRAINING: "trains under float16 autocast",
    TRAINING: "trains in mixed precision",
    MIXED_PRECISION: "uses mixed precision",
}


OF_A_PROJECT = frozenset({FLOAT16_TRAINING, TRAINING, MIXED_PRECISION})
"""Facts that name no class: any file of a project may state them."""


def drives(path: str, name: str = "") -> str:
    """The fact that a library drives objects of a class, or of any class of a file, in float16.

    Args:
        path: the file that defines the class.
        name: the class; empty for any.
    """
    return f"{_DRIVES}{os.path.realpath(path)} {name}"


def calls_back(method: str) -> str:
    """The fact that what steps through a scaler calls back hooks after each iteration, or makes some that are.

    Args:
        method: the name of the method of the hooks.
    """
    return f"{_CALLS_BACK}{method}"


def in_turn(step: str, advance: str) -> str:
    """The fact that a class steps through a scaler in one method, and in another one advances its schedules all the same.

    Args:
        step: the name of the method that steps.
        advance: the name of the other one.
    """
    return f"{_IN_TURN}{step} {advance}"


def trains(trainer: str, optimizer: str) -> str:
    """The fact that a trainer steps an optimizer of its own through a scaler whose state it gives to nobody.

    Args:
        trainer: what others call it, as the name of its class says.
        optimizer: the name of the attribute that holds the optimizer.
    """
    return f"{_TRAINS}{trainer} {optimizer}"


def stated_in(fact: str, path: str) -> str:
    """A fact that counts only for files that imports connect with the one which states it.

    Args:
        fact: one of `in_turn`, of `trains` or of `calls_back`.
        path: the file that states it.
    """
    return f"{fact}{_IN}{os.path.realpath(path)}"


def repeats(function: str, parameter: str) -> str:
    """The fact that other files call a function again and again, and give it the same object each time; whether they do, only
    a look at them tells.

    Args:
        function: its name, at the top of its file; of a method, behind that of its class.
        parameter: the parameter that gets the object.
    """
    return f"{_REPEATS}{function} {parameter}"


def repetition(need: str) -> tuple[str, str] | None:
    """The function and the parameter that a fact of `repeats` is about; None for any other fact.

    Args:
        need: what a finding needs.
    """
    function, _, parameter = need.removeprefix(_REPEATS).partition(" ")
    return (function, parameter) if need.startswith(_REPEATS) else None


def stating(need: str, facts: Iterable[str]) -> list[Path]:
    """The files that state a fact which counts only for those that imports connect with them (`stated_in`).

    Args:
        need: what a finding needs.
        facts: what the files of the run establish.
    """
    return [Path(fact.removeprefix(f"{need}{_IN}")) for fact in facts if fact.startswith(f"{need}{_IN}")]


def stated_at(fact: str, place: str) -> str:
    """The fact that another one is so because of what stands at a place.

    Args:
        fact: one of `OF_A_PROJECT`, or what another function of this module gives.
        place: file and row.
    """
    return f"{fact}{_BY}{place}"


def is_about(fact: str, others: Iterable[str]) -> bool:
    """Whether a fact is one of some, or says where one of them was stated.

    Args:
        fact: the fact.
        others: the others.
    """
    return any(fact == other or fact.startswith(f"{other}{_BY}") for other in others)


def with_place(diagnostic: Diagnostic, facts: Collection[str]) -> Diagnostic:
    """A finding that rests on what another file makes or does, with the name of that; any other one as it is.

    Args:
        diagnostic: the finding.
        facts: what the files of the run establish.
    """
    needs = [(need, word) for need in sorted(diagnostic.needs) for word in _MEANING if _begins(need, word)]
    needed, word = next(iter(needs), ("", ""))
    stated = (fact.partition(f"{needed}{_BY}")[2] for fact in facts if needed and fact.startswith(f"{needed}{_BY}"))
    places = sorted(stated, key=lambda place: (-_together(place, diagnostic.path), place))
    if not places and word not in OF_A_PROJECT:
        return diagnostic
    note = f"{places[0] if places else 'another file of the project'} {_MEANING[word]}"
    return replace(diagnostic, note=f"{diagnostic.note.rstrip('.')}; {note}" if diagnostic.note else note)


def _begins(fact: str, word: str) -> bool:
    return f"{fact} ".startswith(f"{word.rstrip()} ")


def _together(place: str, path: str) -> int:
    """How many folders two files have in common."""
    folders = zip(place.split("/")[:-1], path.split("/")[:-1])
    return next((depth for depth, (one, other) in enumerate(folders) if one != other), place.count("/"))
