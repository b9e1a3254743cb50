"""Repairs judged as `amplint verify` judges amplint's own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence

from amplint.runtime.devices import EMULATED
from amplint.runtime.verdict import Outcome
from amplint.runtime.verify import Repair, ReplayPlan, choose_device, verify_repairs

LIMIT = 30.0
"""Seconds that one replay may take."""

Progress = Callable[[int, int], None]


def outcomes(repairs: Sequence[Repair], jobs: int, progress: Progress | None = None) -> Iterator[Outcome]:
    """What the replays of repairs come to, in their order.

    Args:
        repairs: those of one file after each other are the cheapest.
        jobs: the number of processes.
        progress: called with the number of repairs judged, and of all.

    Raises:
        DeviceError: there is no PyTorch.
    """
    device = choose_device(EMULATED)
    from amplint.runtime.replay.finding_replay import replay  # needs torch, which is known to be there only now

    plan = ReplayPlan(replay, device, limit=LIMIT, jobs=jobs)
    for evidence in verify_repairs(repairs, plan, progress):
        yield evidence.outcome


def difference(repair: Repair) -> str:
    """What a repair changes in the file with the finding."""
    before, after = (each.text.splitlines(keepends=True) for each in (repair.before, repair.after))
    return "".join(difflib.unified_diff(before, after, repair.before.path, "repaired", n=2))
