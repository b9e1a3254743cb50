"""Repairs of which it is known, without running anything, whether they are right; and what a replay says of each."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from amplint.runtime.device_choice import choose_device
from amplint.runtime.devices import EMULATED
from amplint.runtime.repairs import Repair
from amplint.runtime.verdict import CONFIRMED, REFUTED, Outcome
from amplint.runtime.verify import ReplayPlan, verify_repairs

from .by_hand import RIGHT, WRONG, Case, cases
from .mutants import Mutant, sampled
from .same_effect import why_same

KNOWN = Path(__file__).with_name("misjudged.txt")
"""What is known to be misjudged: a name a line, ` -> `, and the reason."""
LIMIT = 30.0
"""Seconds that one replay may take."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Attempt:
    """A repair: the rule, a name that lasts, and whether it is right."""

    code: str
    name: str
    repair: Repair
    right: bool

    def misjudged(self, outcome: Outcome) -> bool:
        """Whether a verdict is the opposite of what is known.

        Args:
            outcome: what the replay came to.
        """
        return outcome.verdict == (REFUTED if self.right else CONFIRMED)

    def difference(self) -> str:
        """What the repair changes in the file with the finding."""
        before, after = (each.text.splitlines(keepends=True) for each in (self.repair.before, self.repair.after))
        return "".join(difflib.unified_diff(before, after, self.repair.before.path, "repaired", n=2))


def mutated(codes: Sequence[str], count: int, seed: int) -> list[Attempt]:
    """A sample of mutants; see `sampled`."""
    return [_of_mutant(one) for one in sampled(codes, count, seed)]


def written(codes: Sequence[str]) -> list[Attempt]:
    """The repairs that people have written down, those of one rule after each other.

    Args:
        codes: the rules.
    """
    every = [_of_case(one, folder == RIGHT) for folder in (WRONG, RIGHT) for one in cases(folder, codes)]
    return sorted(every, key=lambda one: (one.code, one.repair.before.path))


def _of_mutant(mutant: Mutant) -> Attempt:
    repaired = mutant.repaired
    name = f"{repaired.diagnostic.code} {mutant.name}"
    return Attempt(repaired.diagnostic.code, name, repaired.repair(mutant.change.text), bool(why_same(mutant)))


def _of_case(case: Case, right: bool) -> Attempt:
    return Attempt(case.repaired.diagnostic.code, case.name, case.repaired.repair(case.text), right)


def outcomes(attempts: Sequence[Attempt], jobs: int, progress: Progress | None = None) -> Iterator[Outcome]:
    """What the replays of repairs come to, in their order.

    Args:
        attempts: those of one file after each other are the cheapest.
        jobs: the number of processes.
        progress: called with the number of repairs judged, and of all.

    Raises:
        DeviceError: there is no PyTorch.
    """
    device = choose_device(EMULATED)
    from amplint.runtime.replay.finding_replay import replay  # needs torch, which is known to be there only now

    plan = ReplayPlan(replay, device, limit=LIMIT, jobs=jobs)
    for evidence in verify_repairs([one.repair for one in attempts], plan, progress):
        yield evidence.outcome
