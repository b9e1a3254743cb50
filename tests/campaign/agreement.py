"""Where the witnesses agree, and where one of them has a bug."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .limits import GUESSES, LIMITS, Case, Limit, limit_of
from .program import Program
from .static_witness import Reading, Spot, read
from .witnesses import Run, runs, text_of


@dataclass(frozen=True)
class Verdict:
    """What became of each hazard of a program."""

    both: frozenset[Spot]
    only_static: frozenset[Spot]
    only_runtime: frozenset[Spot]
    unknown: frozenset[Spot]
    """Seen at run time, where the static witness has declared that it gave up."""
    limits: Mapping[Spot, str]
    """What one witness said alone, for a reason that is known: its name in `limits.py`."""
    not_executed: frozenset[Spot]
    """Found statically, on lines that no run got to, or that a run might have got to had torch not raised before."""

    @property
    def agrees(self) -> bool:
        """Whether there is no disagreement."""
        return not self.only_static and not self.only_runtime


def verdict(program: Program, reading: Reading, ran: tuple[Run, ...]) -> Verdict:
    """Compare the witnesses."""
    seen = frozenset(spot for each in ran for spot in each.hazards)
    found = reading.hazards
    unseen = found - seen
    # Without AMP a scaler does nothing, so that such a run cannot show what was found.
    telling = [each for each in ran if ("amp", False) not in each.setting]
    cut_short = any(each.error for each in telling)
    open_ = frozenset(
        spot for spot in unseen if cut_short or not any(reading.needs[spot] <= each.lines for each in telling)
    )
    missed = seen - found
    limits = {} if reading.gave_up else _within(LIMITS, missed, program, reading, ran)
    guesses = _within(GUESSES, unseen - open_, program, reading, ran)
    return Verdict(
        both=found & seen,
        only_static=unseen - open_ - guesses.keys(),
        only_runtime=frozenset() if reading.gave_up else missed - limits.keys(),
        unknown=missed if reading.gave_up else frozenset(),
        limits=limits | guesses,
        not_executed=open_,
    )


def _within(
    limits: list[Limit], spots: frozenset[Spot], program: Program, reading: Reading, ran: tuple[Run, ...]
) -> dict[Spot, str]:
    cases = [Case(program, spot, ran, frozenset(reading.needs.get(spot, ()))) for spot in sorted(spots)]
    named = {case.spot: limit_of(limits, case) for case in cases}
    return {spot: name for spot, name in named.items() if name}


def explain(program: Program, reading: Reading, ran: tuple[Run, ...]) -> str:
    """The program with line numbers, both witnesses' answers, and the settings."""
    numbered = "\n".join(f"{row:4} {line}" for row, line in enumerate(program.text.splitlines(), 1))
    said = [
        numbered,
        "",
        f"static witness: {sorted(reading.hazards, key=_by_line)}{' (gave up)' if reading.gave_up else ''}",
    ]
    said += [
        f"run with {text_of(each.setting)}: {sorted(each.hazards, key=_by_line)}{f'; {each.error}' if each.error else ''}"
        for each in ran
    ]
    judged = verdict(program, reading, ran)
    said.append(f"only static: {sorted(judged.only_static)}; only at run time: {sorted(judged.only_runtime)}")
    return "\n".join(said)


def _by_line(spot: Spot) -> tuple[int, str]:
    return spot[1], spot[0]


def examine(program: Program) -> tuple[Verdict, Reading, tuple[Run, ...]]:
    """Ask both witnesses."""
    reading, ran = read(program), runs(program)
    return verdict(program, reading, ran), reading, ran
