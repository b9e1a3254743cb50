"""Judge wrong repairs: `python -m tests.mutants --rules AMP101,AMP201 --sample 60 --seed 1`; all of them without `--sample`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))  # as pytest has it

from amplint.runtime.verdict import CONFIRMED, REFUTED

from .judging import difference, outcomes
from .mutants import sampled
from .repaired import observed_codes
from .same_effect import why_same
from .scores import score, table


def main() -> int:
    """Judge them, and print the table, and each that is judged wrongly; 1 when there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--rules", default="", help="codes, with commas between; all that can be judged by default")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants of each rule; all by default")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives another sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--show", default="", help="also show those with this verdict, such as `refuted`")
    parser.add_argument("--reasons", action="store_true", help="count the reasons of all verdicts but `confirmed`")
    chosen = parser.parse_args()
    codes = [code.strip().upper() for code in chosen.rules.split(",") if code.strip()] or observed_codes()
    mutants = sampled(codes, chosen.sample, chosen.seed)
    judged = list(zip(mutants, outcomes([one.repaired.repair(one.change.text) for one in mutants], chosen.jobs, _tell)))
    misjudged = 0
    for mutant, outcome in judged:
        right = bool(why_same(mutant))
        wrongly = outcome.verdict == (REFUTED if right else CONFIRMED)
        misjudged += wrongly
        if wrongly or outcome.verdict == chosen.show:
            print(f"{outcome.verdict}{' wrongly' * wrongly}: {mutant.repaired.fixture.code} {mutant.name}")
            print(f"{outcome.measure}: {dict(outcome.before)} -> {dict(outcome.after)} {outcome.reason}")
            print(difference(mutant.repaired.repair(mutant.change.text)))
    if chosen.reasons:
        reasons = Counter(
            (one.repaired.diagnostic.code, told.verdict, told.reason) for one, told in judged if told.reason
        )
        for (code, verdict, reason), count in sorted(reasons.items()):
            print(f"{count:5} {code} {verdict}: {reason}")
    print("\n".join(table(score(judged))))
    return 1 if misjudged else 0


def _tell(done: int, total: int) -> None:
    if done % 100 == 0 or done == total:
        print(f"{done} of {total}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
