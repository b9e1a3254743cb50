"""The long campaign: `python -m tests.fuzz --minutes 60 --seed 1 --corpus FOLDER`; `--replay FILE` examines one kept input."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest has it

from .batches import examine_batch
from .campaign import Plan, campaign
from .cases import Case
from .corpus import ROOT, read
from .oracles import examine
from .programs import programs


def main() -> int:
    """Run it, and print what was counted as JSON; 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other inputs")
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], help="a folder with training files, beside the fixtures"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--failures", type=Path, default=ROOT / "build" / "fuzz", help="where failing inputs are kept")
    parser.add_argument("--replay", type=Path, help="examine this file with all oracles")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what was counted is printed
    if chosen.replay:
        return _replay(chosen.replay)
    corpus = read(chosen.corpus, programs(chosen.seed, 300))
    tally = campaign(Plan(corpus, chosen.seed, chosen.failures), chosen.minutes, chosen.jobs)
    print(tally.summary())
    return 1 if tally.failures else 0


def _replay(path: Path) -> int:
    case = Case(path.name, path.read_bytes())
    found = [*examine(case)[1], *(each for _, each in examine_batch([case]))]
    for each in found:
        print(f"{each.oracle}: {each.key}: {each.detail}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
