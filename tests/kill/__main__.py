"""The campaign of kills: `python -m tests.kill --kills 200 --files 500`; prints what was counted as JSON."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .caches import damaged_caches
from .company import edits, two_runs
from .disks import full_disks, read_only, too_large
from .kills import kills
from .tree import Broken, Tree

Figures = dict[str, object]


def scenes(home: Path, files: int, count: int, seed: int) -> dict[str, Callable[[], Figures]]:
    """The scenes of the campaign by name; each makes its own files, and raises `Broken` for a promise not kept."""

    def tree(name: str) -> Tree:
        return Tree(home / name, files, random.Random(f"{seed} {name}"))

    few = max(2, count // 20)
    return {
        "kills": lambda: kills(tree("kills"), count),
        "full disk": lambda: full_disks(home, files, random.Random(f"{seed} disk"), few),
        "limit of size": lambda: too_large(tree("limit")),
        "read-only": lambda: read_only(tree("closed")),
        "two runs": lambda: two_runs(tree("two"), few),
        "edits": lambda: edits(tree("edits")),
        "damaged caches": lambda: damaged_caches(tree("caches"), count),
    }


def main() -> int:
    """Run it; 1 when a promise was not kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many runs are killed; as many caches are damaged")
    parser.add_argument("--files", type=int, default=500, help="how many files there are to fix")
    parser.add_argument("--seed", type=int, default=1, help="the seed of what is random")
    parser.add_argument("--scene", action="append", help="only this scene (may be given several times)")
    chosen = parser.parse_args()
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="amplint-kill-") as folder:
        every = scenes(Path(folder), chosen.files, chosen.kills, chosen.seed)
        for name in chosen.scene or every:
            began = time.monotonic()
            try:
                figures[name] = every[name]()
            except Broken as error:
                figures[name] = {"broken": str(error)}
            figures[name]["minutes"] = round((time.monotonic() - began) / 60, 1)
            print(f"{name}: {figures[name]}", file=sys.stderr, flush=True)
    print(json.dumps(figures, indent=2))
    return 1 if any("broken" in one for one in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
