"""The long campaign: `python -m tests.campaign --programs 5000 --seed 1`; with `--plants`, that of the planted programs, and
with `--repairs`, that of the fixes."""

from __future__ import annotations

import argparse
import sys
import warnings

from .plant_tally import PlantTally, examine_plants
from .repairs import RepairTally, examine_repairs
from .tally import PIECE, Tally, examine_piece, smallest_disagreement


def main() -> int:
    """Run it, and print what was counted; 1 when the witnesses disagree."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--programs", type=int, default=5000, help="how many programs to examine")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first piece")
    parser.add_argument(
        "--shrink", action="store_true", help="shrink the first disagreement of a piece (takes minutes)"
    )
    parser.add_argument("--plants", action="store_true", help="examine planted programs: rules that are no hazard")
    parser.add_argument("--repairs", action="store_true", help="run the programs before their fixes and after")
    parser.add_argument(
        "--files", type=int, choices=(1, 2, 3), default=1, help="plants in another file than the region; with --plants"
    )
    chosen = parser.parse_args()
    if chosen.files > 1 and not chosen.plants:
        parser.error("--files lays out planted programs: add --plants")
    warnings.simplefilter("ignore")  # torch's own, about schedulers that run ahead
    if chosen.repairs:
        return _repairs(chosen)
    return _plants(chosen) if chosen.plants else _hazards(chosen)


def _repairs(chosen: argparse.Namespace) -> int:
    tally = RepairTally()
    for number, count in pieces(chosen.seed, chosen.programs):
        before = len(tally.harms)
        examine_repairs(number, count, tally)
        print(*(f"== seed {number}\n{harm}\n" for harm in tally.harms[before:]), sep="\n", end="", flush=True)
        print(f"seed {number}: {tally.programs} programs", file=sys.stderr, flush=True)
    print(f"{tally.programs} programs, {tally.texts} texts after fixes, {len(tally.harms)} of them worse than before")
    return 1 if tally.harms else 0


def _plants(chosen: argparse.Namespace) -> int:
    tally = PlantTally()
    for number, count in pieces(chosen.seed, chosen.programs):
        before = len(tally.disagreements)
        if not examine_plants(number, count, tally, chosen.files):
            print(f"== seed {number}", *tally.disagreements[before:], sep="\n\n", flush=True)
        print(f"seed {number}: {tally.programs} programs", file=sys.stderr, flush=True)
    print("\n".join(tally.lines()))
    return 1 if tally.disagreements else 0


def _hazards(chosen: argparse.Namespace) -> int:
    tally = Tally()
    for number, count in pieces(chosen.seed, chosen.programs):
        before = len(tally.disagreements)
        agrees = examine_piece(number, count, tally)
        print(f"seed {number}: {tally.programs} programs", file=sys.stderr, flush=True)
        if not agrees:
            text = smallest_disagreement(number, count) if chosen.shrink else tally.disagreements[before]
            print(f"== seed {number}\n{text}\n", flush=True)
    print("\n".join(tally.lines()))
    return 1 if tally.disagreements else 0


def pieces(first: int, programs: int) -> list[tuple[int, int]]:
    """The seeds of a campaign, with the number of programs that each draws."""
    full, rest = divmod(programs, PIECE)
    return [(first + number, PIECE) for number in range(full)] + ([(first + full, rest)] if rest else [])


if __name__ == "__main__":
    sys.exit(main())
