"""Whether a rule says what the runs of a program have shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from amplint.engine.registry import load_rules
from amplint.rule import Rule

from .plant_limits import SILENT, TOLD
from .planting import SOWERS, Planted
from .showing import Show, show
from .static_witness import hazard_kinds, said
from .witnesses import text_of

Findings = Mapping[str, frozenset[int]]
"""The rows on which each rule speaks."""


@dataclass(frozen=True)
class Judgement:
    """What became of a plant: whether the rule speaks of it, whether the runs show it, and what else amplint says.

    `cut_short` says that PyTorch ended a run by an error, `limit` names a known reason to differ.
    """

    found: bool
    shown: bool
    cut_short: bool
    stray: frozenset[tuple[str, int]]
    reported: frozenset[str]
    limit: str

    @property
    def agrees(self) -> bool:
        """Whether there is no disagreement."""
        return (self.found == self.shown or self.not_executed or bool(self.limit)) and not self.stray

    @property
    def answer(self) -> str:
        """What became of it, in words."""
        if self.found == self.shown:
            return "both" if self.found else "neither"
        if self.limit or self.not_executed:
            return "limits" if self.limit else "not executed"
        return "only rule" if self.found else "only runs"

    @property
    def not_executed(self) -> bool:
        """Whether runs were ended by an error before they could show what the rule speaks of."""
        return self.found and not self.shown and self.cut_short


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Rule]:
    """The rules that no hazard of the protocol stands for."""
    return {rule.code: rule for rule in load_rules() if rule.name not in hazard_kinds()}


def findings(program: Planted) -> Findings:
    """What the rules say that are on by default, and the one that the plant is about.

    Raises:
        AssertionError: the linter has an internal error, or cannot parse the program.
    """
    rules = [rule for rule in _rules().values() if rule.default or rule.code == program.code]
    rows: dict[str, set[int]] = {}
    for code, row in said(program, rules):
        assert code in _rules(), code
        rows.setdefault(code, set()).add(row)
    return {code: frozenset(found) for code, found in rows.items()}


def shows(program: Planted) -> tuple[Show, ...]:
    """Run a program with every setting of its flags."""
    return tuple(show(program, setting, program.rows, program.plant.sweep) for setting in program.settings())


def judge(program: Planted, found: Findings, shown: tuple[Show, ...]) -> Judgement:
    """Compare them."""
    plant = program.plant
    meant = {plant.code, *plant.also}
    here = {
        (code, row) for code in meant & found.keys() for row in found[code] if plant.anywhere or row in program.rows
    }
    stray = {(code, row) for code, rows in found.items() for row in rows} - here
    cut_short = any(each.error for each in shown)
    # What other rules speak of may be there, too: the oracles of these rules know.
    stray = {
        (code, row)
        for code, row in stray
        if code in meant or code not in SOWERS or not (cut_short or SOWERS[code].oracle(program, shown))
    }
    reported = frozenset(code for code, _ in here)
    is_there = plant.oracle(program, shown)
    known = [] if bool(here) == is_there else TOLD if here else SILENT
    limit = next((each.__name__ for each in known if each(program)), "")
    return Judgement(bool(here), is_there, cut_short, frozenset(stray), reported, limit)


class Misjudged(AssertionError):
    """A rule and the runs of a program disagree; the message says it all."""


def must_hold(program: Planted) -> Judgement:
    """Lint a program, and run it.

    Raises:
        Misjudged: the rule and the runs disagree.
    """
    found, shown = findings(program), shows(program)
    judged = judge(program, found, shown)
    if not judged.agrees:
        raise Misjudged(explain(program, found, shown))
    return judged


def explain(program: Planted, found: Findings, shown: tuple[Show, ...]) -> str:
    """The program with line numbers, what was said and what was seen."""
    judged = judge(program, found, shown)
    numbered = "\n".join(f"{row:4} {line}" for row, line in enumerate(program.text.splitlines(), 1))
    said = {code: sorted(rows) for code, rows in found.items()}
    ran = [f"run with {text_of(each.setting)}: {each.error or 'no error'} {dict(each.probes) or ''}" for each in shown]
    return "\n".join(
        [numbered, "", f"{program.code}: said {judged.found}, shown {judged.shown}; all findings: {said}", *ran]
    )
