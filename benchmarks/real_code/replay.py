"""What `amplint verify` comes to over real code: verdicts and reasons for each rule, and how long replays take.

    python benchmarks/real_code/fetch.py FOLDER
    python benchmarks/real_code/replay.py FOLDER

All fixes are replayed, the unsafe ones too, and none is applied. The exit code is amplint's own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CONFIRMED, REFUTED = "confirmed", "refuted"
NOT_OBSERVABLE = "not observable on this device"
REPLAYED = (CONFIRMED, REFUTED, NOT_OBSERVABLE)
"""The verdicts that a replay came to; the others say why there was none."""


class Run(NamedTuple):
    """One run of amplint: the evidence it wrote, its exit code, what it said, and the seconds it took: on the clock, of CPU."""

    evidence: list[dict[str, Any]]
    code: int
    said: str
    seconds: float
    cpu: float


def verify(folders: Sequence[str], device: str, jobs: int) -> Run:
    """Replay the fix of every finding in some folders."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "evidence.jsonl")
        options = ["--isolated", "--unsafe-fixes", "--no-cache", "--device", device, "--jobs", str(jobs)]
        command = [sys.executable, "-m", "amplint", "verify", *options, "--evidence", str(file), "--", *folders]
        began, used = time.perf_counter(), _cpu_of_children()
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        seconds, cpu = time.perf_counter() - began, _cpu_of_children() - used
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return Run([json.loads(line) for line in lines], ended.returncode, ended.stderr, seconds, cpu)


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def report(run: Run) -> Iterator[str]:
    """The lines of the report."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[tuple[str, str, str]] = Counter()
    for one in run.evidence:
        code, verdict = one["finding"]["code"], one["verdict"]
        verdicts[code][verdict] += 1
        if verdict != CONFIRMED:
            reasons[code, verdict, one["reason"]] += 1
    for code, counts in sorted(verdicts.items()):
        yield f"{code}  {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}"
    for (code, verdict, reason), count in sorted(reasons.items(), key=lambda each: (-each[1], each[0])):
        yield f"  {count} x {code} {verdict}: {reason}"
    total = sum(sum(counts.values()) for counts in verdicts.values())
    if total:
        replayed = sum(counts[verdict] for counts in verdicts.values() for verdict in REPLAYED)
        refuted = sum(counts[REFUTED] for counts in verdicts.values())
        yield f"{total} findings with a fix, {replayed} replayed ({replayed / total:.1%}), {refuted} refuted"
        times = [one["seconds"] for one in run.evidence]
        yield f"seconds for each finding: median {statistics.median(times):.2f}, longest {max(times):.2f}"
    yield f"seconds in all: {run.seconds:.1f}, of CPU {run.cpu:.1f}"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="code to lint and to replay")
    parser.add_argument("--device", default="cuda-emulated", help="what to replay on (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=0, help="processes (default: one for each processor)")
    wanted = parser.parse_args()
    run = verify(wanted.folders, wanted.device, wanted.jobs)
    sys.stderr.write(run.said)
    print("\n".join(report(run)))
    return run.code


if __name__ == "__main__":
    sys.exit(main())
