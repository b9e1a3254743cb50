"""What the fixes do to random programs: nothing may go wrong that did not go wrong before."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from hypothesis import Phase

from amplint.diagnostics import FileReport
from amplint.engine.checker import withdraw
from amplint.engine.fixer import fix_source
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.rule import Rule
from amplint.source import Source

from .program import Program
from .static_witness import FILE
from .tally import each_program
from .witnesses import Run, runs, text_of


class Harm(AssertionError):
    """Fixes have made a program worse; the message says it all."""


@dataclass
class RepairTally:
    """What a campaign has counted: programs, the texts that fixes made of them, and what went wrong in those."""

    programs: int = 0
    texts: int = 0
    harms: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def add(self, program: Program) -> None:
        """Run one more program before its fixes and after, unless it was drawn before."""
        if program.text in self.seen:
            return
        self.seen.add(program.text)
        self.programs += 1
        try:
            self.texts += must_not_harm(program)
        except Harm as harm:
            self.harms.append(str(harm))


def examine_repairs(number: int, count: int, tally: RepairTally) -> None:
    """Run the programs of one piece before their fixes and after.

    Args:
        number: the seed.
        count: how many programs are drawn.
        tally: counts.
    """
    each_program(number, count, tally.add, (Phase.generate,))


@lru_cache(maxsize=1)
def _rules() -> tuple[Rule, ...]:
    return tuple(rule for rule in load_rules() if rule.code != "AMP209")  # only names, which every program would change


def _report(source: Source) -> FileReport:
    report = lint_source(source, _rules())
    return withdraw(report, report.facts)


def must_not_harm(program: Program) -> int:
    """Apply the safe fixes, and then the unsafe ones, and run the program before and after under every setting of its flags.

    Args:
        program: a program of one file.

    Returns:
        How many texts were run besides the program's own.

    Raises:
        Harm: a run ends with an error that it did not end with before, or shows a hazard that it did not show, and of which
            the report on the text after the fixes says nothing.
    """
    if len(program.parts) > 1:
        return 0
    texts = dict.fromkeys(_fixed(program))
    before = runs(program) if texts else ()
    for text in texts:
        left = frozenset(each.name for each in _report(Source(FILE, text)).diagnostics)
        for one, other in zip(before, runs(Program(text, program.flags))):
            if (harm := _harm(one, other, left)) != "":
                raise Harm(f"{harm} with {text_of(other.setting)}\n{_difference(program.text, text)}")
    return len(texts)


def _fixed(program: Program) -> Iterator[str]:
    """The texts that the fixes make of a program, where they change it: the safe ones alone, and all of them."""
    for unsafe in (False, True):
        outcome = fix_source(Source(FILE, program.text), _report, unsafe)
        if outcome.error:
            raise Harm(f"{outcome.error}\n{program.text}")
        if outcome.text != program.text:
            yield outcome.text


def _harm(before: Run, after: Run, left: frozenset[str]) -> str:
    """What a run shows that it did not show before the fixes; empty where that is nothing."""
    if before.error:
        return ""  # the fixes let it run on, into what it did not get to before
    new = {kind for kind, _ in after.hazards} - {kind for kind, _ in before.hazards} - left
    return after.error or ", ".join(sorted(new))


def _difference(before: str, after: str) -> str:
    return "".join(difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=100))
