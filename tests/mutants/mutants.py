"""Mutants: the fixed text of a fixture with one thing wrong, near the fix."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from amplint.engine.fixed_text import apply
from amplint.testing import Fixture

from .expressions import EXPRESSIONS
from .program_text import Change, ProgramText
from .repaired import Repaired, flagged_fixtures, repaired_findings
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
    """Mutants of some rules, so many of each, from all mutators and fixtures; those of one fixture after each other.

    Args:
        codes: the rules.
        count: how many of each rule; 0 for all.
        seed: another one gives others.
    """
    chosen: list[Mutant] = []
    for code in codes:
        fixtures = flagged_fixtures(code)
        found = _drawn(fixtures, count, Random(f"{seed} {code}")) if count else _every(fixtures)
        chosen += sorted(found, key=lambda one: one.repaired.fixture.path)
    return chosen


def _every(fixtures: Sequence[Fixture]) -> Iterator[Mutant]:
    for fixture in fixtures:
        for repaired in repaired_findings(fixture):
            yield from mutants_of(repaired)


def _drawn(fixtures: Sequence[Fixture], count: int, random: Random) -> list[Mutant]:
    """So many mutants: the fixtures take turns, and each gives one by the mutator that was drawn least."""
    order = random.sample(fixtures, len(fixtures))
    piles: dict[Fixture, list[Mutant]] = {}
    used: Counter[str] = Counter()
    found: list[Mutant] = []
    while order and len(found) < count:
        fixture = order.pop(0)
        if fixture not in piles:
            mutants = [*_every([fixture])]
            piles[fixture] = random.sample(mutants, len(mutants))
        if piles[fixture]:
            one = min(piles[fixture], key=lambda each: used[each.mutator])
            piles[fixture].remove(one)
            used[one.mutator] += 1
            found.append(one)
            order.append(fixture)
    return found


def _parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `"1" is x`
        try:
            compile(text, "mutant", "exec")
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None
