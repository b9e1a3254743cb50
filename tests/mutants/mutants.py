"""Mutants: the fixed text of a fixture with one thing wrong, near the fix."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from amplint.engine.fixer import apply

from .expressions import EXPRESSIONS
from .program_text import Change, ProgramText
from .repaired import Repaired, repaired_findings
from .statements import STATEMENTS


@dataclass(frozen=True)
class Mutant:
    """A wrong repair: the finding, which mutator made it, and what it did."""

    repaired: Repaired
    mutator: str
    change: Change

    @property
    def name(self) -> str:
        """The same from run to run; lists of mutants hold it."""
        return f"{self.repaired.name}: {self.mutator}: {self.change.what} (row {self.change.row})"


def undo_one(repaired: Repaired) -> Iterator[Change]:
    """One edit of several is left out, or all are.

    Args:
        repaired: a finding with its fix.
    """
    fix = repaired.diagnostic.fix
    assert fix is not None
    for edit in fix.edits:
        kept = tuple(each for each in fix.edits if each != edit)
        text, _ = apply(repaired.fixture.source, [replace(repaired.diagnostic, fix=replace(fix, edits=kept))])
        row = repaired.fixture.source.position(edit.start).row
        yield Change(f"without the edit `{edit.replacement.strip() or 'delete'}`", row, text)


@cache
def mutants_of(repaired: Repaired) -> tuple[Mutant, ...]:
    """The mutants of one fix: each another program, and none the fix itself.

    Args:
        repaired: a finding with its fix.
    """
    program = ProgramText(repaired.text, repaired.tree, repaired.rows())
    seen = {ast.dump(repaired.tree)}
    found = []
    made = ((each.__name__, change) for each in (*STATEMENTS, *EXPRESSIONS) for change in each(program))
    for mutator, change in (*(("undo_one", change) for change in undo_one(repaired)), *made):
        tree = _parsed(change.text)
        if tree is not None and (shape := ast.dump(tree)) not in seen:
            seen.add(shape)
            found.append(Mutant(repaired, mutator, change))
    return tuple(found)


def sampled(codes: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Mutants of some rules, so many of each, from all mutators and fixtures; in the order of the fixtures.

    Args:
        codes: the rules.
        count: how many of each rule; 0 for all.
        seed: another one gives others.
    """
    chosen: list[Mutant] = []
    for code in codes:
        mutants = [one for repaired in repaired_findings([code]) for one in mutants_of(repaired)]
        order = {one: place for place, one in enumerate(mutants)}
        if count:
            mutants = _spread(mutants, Random(f"{seed} {code}"))[:count]
        chosen += sorted(mutants, key=order.__getitem__)
    return chosen


def _spread(mutants: Sequence[Mutant], random: Random) -> list[Mutant]:
    """In an order in which mutators take turns, and so do the fixtures that each of them has mutated."""
    piles: dict[str, list[Mutant]] = {}
    for one in random.sample(mutants, len(mutants)):
        piles.setdefault(one.mutator, []).append(one)
    turns: list[tuple[int, Mutant]] = []
    for pile in piles.values():
        met: dict[str, int] = {}
        for one in pile:
            met[one.repaired.name] = met.get(one.repaired.name, -1) + 1
        by_turn = sorted(pile, key=lambda one: met[one.repaired.name])
        turns += enumerate(by_turn)
    return [one for _, one in sorted(turns, key=lambda each: each[0])]


def _parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `"1" is x`
        try:
            compile(text, "mutant", "exec")
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None
