"""The long campaign: pieces of it run in processes of their own, so that nothing that an input does can end it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from amplint.engine.registry import load_rules

from .batches import examine_batch
from .cases import Case, make
from .corpus import Corpus
from .failures import keep
from .oracles import Failure, examine
from .tally import Tally

PIECE = 60
"""Inputs of one process."""
BATCHES = 8
"""Of so many pieces, the last is also examined as a batch."""
LIMIT = 120
"""Seconds of processor time after which an input is given up."""


@dataclass(frozen=True)
class Plan:
    """What a campaign draws from, and where it keeps failures."""

    corpus: Corpus
    seed: int
    failures: Path


def campaign(plan: Plan, minutes: float, jobs: int) -> Tally:
    """Examine inputs for so many minutes, or until it is interrupted."""
    tally = Tally()
    until = time.monotonic() + 60 * minutes
    load_rules()  # now, lest amplint changes on disk while the campaign runs
    context = multiprocessing.get_context("fork")  # all of it is there already
    running: dict[int, multiprocessing.process.BaseProcess] = {}
    number = 0
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        while running or time.monotonic() < until:
            while len(running) < jobs and time.monotonic() < until:
                running[number] = context.Process(target=_piece, args=(plan, number, Path(folder)), daemon=True)
                running[number].start()
                number += 1
            time.sleep(0.2)
            for done in [each for each, process in running.items() if not process.is_alive()]:
                process = running.pop(done)
                process.join()
                _collect(plan, done, process.exitcode or 0, Path(folder), tally)
    return tally


def _collect(plan: Plan, number: int, exit_code: int, folder: Path, tally: Tally) -> None:
    """Add what a piece has counted; one that died has left the input on which it did."""
    result, current = folder / f"{number}.json", folder / f"{number}.current"
    if result.exists():
        tally.merge(Tally.read(result))
        result.unlink()
    if exit_code != 0 and current.exists():
        case = make(plan.corpus, plan.seed, int(current.read_text()))
        plan.failures.mkdir(parents=True, exist_ok=True)
        (plan.failures / f"died-{exit_code}-{case.name}").write_bytes(case.data)
        tally.failures[f"no-crash: the process died ({exit_code})"] += 1
    current.unlink(missing_ok=True)
    print(f"piece {number}: {tally.inputs} inputs, {sum(tally.failures.values())} failures", flush=True)


def _piece(plan: Plan, piece: int, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    tally = Tally()
    cases: list[Case] = []
    for number in range(piece * PIECE, (piece + 1) * PIECE):
        (folder / f"{piece}.current").write_text(str(number))
        case = make(plan.corpus, plan.seed, number)
        cases.append(case)
        _one(plan, case, number, tally)
        tally.cpu_seconds = time.process_time()
        tally.write(folder / f"{piece}.json")
    if piece % BATCHES == BATCHES - 1:
        _batch(plan, cases, tally)
    times = os.times()
    tally.cpu_seconds = times.user + times.system + times.children_user + times.children_system
    tally.write(folder / f"{piece}.json")


def _one(plan: Plan, case: Case, number: int, tally: Tally) -> None:
    begun = time.process_time()
    try:
        with at_most(LIMIT):
            examined, failures = examine(case)
            tally.add(examined, failures, time.process_time() - begun)
    except TooSlowError:
        tally.took(case, time.process_time() - begun)
        return
    _keep(plan, [(case, each) for each in failures], number)


def _batch(plan: Plan, cases: Sequence[Case], tally: Tally) -> None:
    found = examine_batch(cases)
    tally.batches += 1
    tally.failures.update(f"{each.oracle}: {each.key}" for _, each in found)
    _keep(plan, found, -1)


def _keep(plan: Plan, found: Sequence[tuple[Case, Failure]], number: int) -> None:
    for case, failure in found:
        with suppress(TooSlowError), at_most(10 * LIMIT):
            keep(plan.failures, case, failure, {"seed": plan.seed, "number": number})


class TooSlowError(BaseException):
    """An input takes too long; no `except Exception` may swallow it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooSlowError` in what takes more processor time."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
