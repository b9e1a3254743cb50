"""Judge repairs that are known to be wrong, or right: `python -m tests.mutants --rules AMP101,AMP201 --sample 60 --seed 1`.

It is all that people have written down, and mutants: without `--sample` all of them, which takes hours, with `--by-hand` none.
With `--resume FILE` each verdict is written to a file as it is reached, and those that are there are not asked for again. Take
another file after a change to amplint: a record only knows the texts.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))  # as pytest has it

from amplint.runtime.verdict import Outcome

from .attempts import Attempt, mutated, outcomes, written
from .records import resumed
from .repaired import observed_codes
from .scores import score, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verify.md"
"""The page that shows the table."""


def main() -> int:
    """Judge them, and print each that is misjudged, and the table; 1 when there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--rules", default="", help="codes, with commas between; all that can be judged by default")
    parser.add_argument("--by-hand", action="store_true", help="no mutants")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants of each rule; all by default")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives another sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="where verdicts are kept, and taken from")
    parser.add_argument(
        "--show", default="", help="also show the wrong ones with this verdict, such as `not replayable`"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/verify.md")
    parser.add_argument("--reasons", action="store_true", help="count the reasons of all verdicts")
    chosen = parser.parse_args()
    codes = [code.strip().upper() for code in chosen.rules.split(",") if code.strip()] or observed_codes()
    mutants = [] if chosen.by_hand else mutated(codes, chosen.sample, chosen.seed)
    attempts = sorted([*written(codes), *mutants], key=lambda one: one.repair.before.path)
    judged = []
    for attempt, outcome in _judged(attempts, chosen.jobs, chosen.resume):
        judged.append((attempt, outcome))
        if attempt.misjudged(outcome) or (outcome.verdict == chosen.show and not attempt.right):
            _show(attempt, outcome)
    if chosen.reasons:
        told = Counter((one.code, outcome.verdict, outcome.reason) for one, outcome in judged)
        for (code, verdict, reason), count in sorted(told.items()):
            print(f"{count:5} {code} {verdict}: {reason}")
    rows = list(table(score(judged)))
    print("\n".join(rows))
    if chosen.write:
        _write(rows)
    return 1 if any(attempt.misjudged(outcome) for attempt, outcome in judged) else 0


def _judged(attempts: Sequence[Attempt], jobs: int, records: Path | None) -> Iterator[tuple[Attempt, Outcome]]:
    if records is not None:
        return resumed(attempts, records, jobs, _tell)
    return zip(attempts, outcomes(attempts, jobs, _tell))


def _show(attempt: Attempt, outcome: Outcome) -> None:
    known = "right" if attempt.right else "wrong"
    print(f"{known}, but {outcome.verdict}: {attempt.name}")
    print(f"{outcome.measure}: {dict(outcome.before)} -> {dict(outcome.after)} {outcome.reason}")
    print(attempt.difference(), flush=True)


def _write(rows: Sequence[str]) -> None:
    text = PAGE.read_text("utf-8")
    begin, end = (f"<!-- mutation scores: {word} -->" for word in ("begin", "end"))
    head, tail = text.partition(begin)[0], text.partition(end)[2]
    PAGE.write_text("\n".join([head + begin, *rows, end]) + tail, "utf-8")


def _tell(done: int, total: int) -> None:
    if done % 50 == 0 or done == total:
        print(f"{done} of {total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
