"""What a GPU says: runs the tests that need one, in parts, and writes down what came of each.

    python scripts/gpu_evidence.py                  # on a machine with a GPU
    python scripts/gpu_evidence.py --seconds 540    # as far as it gets in that time; the next call goes on
    python scripts/gpu_evidence.py --stand-in --out build/stand_in   # the emulation in the place of the GPU, to try this script

Each part writes JSON lines of its own as it goes (`docs/evidence/PART.jsonl`) and takes less than five minutes. What is there
already is not run again; a process whose GPU context breaks is replaced by another, which goes on behind the test that broke it.
The last thing written is a page about all of it (`docs/evidence.md`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from gpu_records import UNFINISHED, known  # noqa: E402

LIMIT = 280.0
"""Seconds that one part may take."""
_NOTHING_LEFT = 5
"""Pytest's exit code where no test is collected."""


class Part(NamedTuple):
    """Some of the tests: those that `-k` chooses, and of these one slice."""

    name: str
    chosen: str
    slice: str = "1/1"


def _sliced(name: str, chosen: str, of: int) -> Iterator[Part]:
    for number in range(1, of + 1):
        yield Part(f"{name}-{number}", chosen, f"{number}/{of}")


PARTS = (
    Part("arithmetic", "assignment or divisor or mask or subnormal or words"),
    *_sliced("operations", "dtypes_of_the_gpu", 3),
    Part("autocast", "recurrent or bfloat16 or replicas"),
    Part("optimizers", "fused or recorder"),
    Part("times", "slower or gains"),
    Part("verdicts", "verdicts_of_the_emulation"),
    *_sliced("fixtures", "refuted_on_a_gpu", 8),
    Part("author", "own_function"),
)


def main() -> int:
    """Run the parts, and write the page."""
    options = _options()
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "support")}
    environment.pop("AMPLINT_STAND_IN", None)
    if options.stand_in:
        environment["AMPLINT_STAND_IN"] = "1"
    machine = _machine(environment)
    if machine["gpu"] is None and not options.stand_in:
        print("error: no GPU is available to PyTorch (--stand-in tries this script without)", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + options.seconds
    for part in PARTS:
        if options.parts and part.name not in options.parts:
            continue
        if not run(part, options.out / f"{part.name}.jsonl", machine, environment, until):
            print(f"{part.name}: not at its end; call again to go on")
    page = options.out.with_suffix(".md")
    page.write_text("".join(written(options.out)), "utf-8")
    print(f"see {page}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="folder for the lines; the page is written beside it")
    parser.add_argument("--parts", type=lambda text: text.split(","), help=", ".join(part.name for part in PARTS))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop beginning anything")
    parser.add_argument("--stand-in", action="store_true", help="the emulation in the place of the GPU; needs --out")
    options = parser.parse_args()
    if unknown := set(options.parts or ()) - {part.name for part in PARTS}:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    if options.stand_in and options.out is None:
        parser.error("--stand-in needs --out: what it writes is no evidence from a GPU")
    options.out = (options.out or ROOT / "docs" / "evidence").resolve()
    return options


_ASK = """\
import json, os, platform, torch
found = torch.cuda.is_available() and "AMPLINT_STAND_IN" not in os.environ
gpu = torch.cuda.get_device_properties(0) if found else None
print(json.dumps({
    "gpu": gpu.name if gpu else None, "capability": f"{gpu.major}.{gpu.minor}" if gpu else "",
    "memory": gpu.total_memory if gpu else 0, "torch": torch.__version__, "cuda": torch.version.cuda or "",
    "cudnn": torch.backends.cudnn.version() if gpu else None, "python": platform.python_version(), "system": platform.platform(),
}))
"""


def _machine(environment: Mapping[str, str]) -> dict[str, Any]:
    """What there is; asked in a process of its own, for CUDA stays in the process that asks."""
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _ASK], capture_output=True, text=True, env=dict(environment)
    )
    if asked.returncode:
        raise SystemExit(f"error: PyTorch does not say what there is: {asked.stderr.strip().splitlines()[-1]}")
    machine: dict[str, Any] = json.loads(asked.stdout)
    return machine


def run(part: Part, file: Path, machine: Mapping[str, Any], environment: Mapping[str, str], until: float) -> bool:
    """Run what is not known yet of a part; returns whether it came to its end.

    Args:
        part: the part.
        file: where its lines are.
        machine: what it runs on; lines from another machine are not gone on from.
        environment: of the processes.
        until: when to stop, by the monotonic clock.
    """
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    if not lines or json.loads(lines[0]).get("machine") != machine:
        file.write_text(json.dumps({"part": part.name, "machine": machine}) + "\n", "utf-8")
    until = min(until, time.monotonic() + LIMIT)
    while time.monotonic() < until:
        before = len(known(file))
        code = _pytest(part, file, environment, until - time.monotonic())
        if code is None:
            _cut_off(file)
            return False
        found = known(file)
        outcomes = [one["outcome"] for one in found.values()]
        print(f"{part.name}: " + ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes)))
        if code in (0, 1, _NOTHING_LEFT):
            return True
        if len(found) == before:
            print(f"{part.name}: pytest ends with exit code {code}", file=sys.stderr)
            return False
    return False


def _cut_off(file: Path) -> None:
    """Let the test that was running when the time was up have another chance, if it had none yet."""
    text = file.read_text("utf-8")
    for test in [test for test, record in known(file).items() if record["outcome"] == "died"][-1:]:
        line = json.dumps({"test": test, "outcome": UNFINISHED}) + "\n"
        if line not in text:
            file.write_text(text + line, "utf-8")


def _pytest(part: Part, file: Path, environment: Mapping[str, str], seconds: float) -> int | None:
    command = [
        sys.executable, "-m", "pytest", "tests/runtime/test_cuda.py", "-p", "gpu_records", "--records", str(file), "-m", "cuda",
        "-k", part.chosen, "--slice", part.slice, "-q", "-p", "no:cacheprovider",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=dict(environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


# -- the page ----------------------------------------------------------------------------------------------------------


def written(folder: Path) -> Iterator[str]:
    """The page about the lines in a folder."""
    files = {part: folder / f"{part.name}.jsonl" for part in PARTS if (folder / f"{part.name}.jsonl").exists()}
    found = {part: known(file) for part, file in files.items()}
    machines = {json.dumps(json.loads(file.read_text("utf-8").splitlines()[0])["machine"]) for file in files.values()}
    is_gpu = bool(machines) and all(json.loads(one)["gpu"] for one in machines)
    yield (
        "# What a GPU says\n\n"
        if is_gpu
        else "# The emulation in the place of a GPU\n\nNothing here was seen on a GPU.\n\n"
    )
    yield "Written by `scripts/gpu_evidence.py`.\n\n## On what\n\n"
    for one in sorted(machines):
        yield "- " + ", ".join(f"{name} {value}" for name, value in json.loads(one).items() if value) + "\n"
    yield from _tables(found)


def _tables(found: Mapping[Part, Mapping[str, dict[str, Any]]]) -> Iterator[str]:
    outcomes = ("passed", "failed", "skipped", "died")
    yield f"\n## What was run\n\n| part | {' | '.join(outcomes)} | seconds |\n|---|---|---|---|---|---|\n"
    for part, records in found.items():
        counts = [sum(one["outcome"] == each for one in records.values()) for each in outcomes]
        seconds = sum(one.get("seconds", 0.0) for one in records.values())
        yield f"| {part.name} | {' | '.join(map(str, counts))} | {seconds:.1f} |\n"
    every = [one for records in found.values() for one in records.values()]
    yield "\n## Differences to what is expected\n\n"
    wrong = [(_short(one["test"]), one.get("said", "")) for one in every if one["outcome"] in ("failed", "died")]
    yield from _rows(("test", "what it said"), [(test, said or "the process died") for test, said in wrong])
    yield "\nNot failures, but other than was written down (versions, kernels that one side lacks):\n\n"
    yield from _rows(("what", "seen"), [tuple(each) for one in every for each in one.get("differences", ())])
    yield "\n## Times\n\nMedians in microseconds; in brackets the distance of the quartiles.\n\n"
    yield from _rows(
        ("work", "before", "after", "saved"), [_timing(*each) for one in every for each in one.get("timings", ())]
    )
    yield "\n## Notes\n\n"
    yield from _rows(("what", "seen"), [tuple(each) for one in every for each in one.get("notes", ())])


def _timing(name: str, times: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        name,
        *(f"{times[side]:.2f} ({times[f'spread {side}']:.2f})" for side in ("before", "after")),
        f"{times['saved']:.1%} ({times['spread saved']:.1%})",
    )


def _short(test: str) -> str:
    return test.rpartition("::")[2]


def _rows(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        yield "None.\n"
        return
    for row in (heading, ("---",) * len(heading), *rows):
        yield "| " + " | ".join(" ".join(str(each).replace("|", "\\|").split()) for each in row) + " |\n"


if __name__ == "__main__":
    sys.exit(main())
