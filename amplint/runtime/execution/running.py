"""A process that runs the author's code for one text: how it is started, waited for and listened to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import IO, Any

import torch

from amplint.runtime.execution.confinement import ANSWER, SECONDS, WAIT
from amplint.runtime.execution.operands import Settled
from amplint.runtime.execution.target import RunTarget
from amplint.runtime.numeric.answer import Evaluation
from amplint.runtime.numeric.sweep import Layout
from amplint.runtime.recording.tensor_facts import dtype_name
from amplint.runtime.training.run_record import NotReplayable

READY = b"ready\n"
"""What the process writes before the author's code begins to run."""
_STARTING = 60.0
"""Seconds for the process to import torch, before the author's code begins to run."""
_PAUSE = 0.02
_START = "import sys; sys.path[:] = sys.argv[1:]; from amplint.runtime.execution.author_process import main; main()"
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")
"""What the process gets of the environment; tokens and the like stay here."""
_LONGEST, _MOST = 400, 2000
"""Of what the process says, so many characters and so many points are heard."""
_DTYPES = {dtype_name(each): each for each in (torch.float16, torch.bfloat16, torch.float32, torch.float64)}


@dataclass(frozen=True)
class AuthorFile:
    """A file as its project's code finds it: in a copy of the tree, with the text that is to be run.

    Attributes:
        file: where the copy of it lies.
        name: its name as a module, with those of its packages.
        paths: where its imports look first.
        text: what it is to consist of.
    """

    file: str
    name: str
    paths: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class PointRun:
    """What a function came to at a point: under AMP, in float64 and in float32; and the dtypes of its gradients.

    `row` is that of an error under AMP, 0 where it was raised in another file of the project.
    """

    at: float
    swept: str
    dtypes: tuple[torch.dtype, ...]
    amp: Evaluation
    exact: Evaluation
    plain: Evaluation
    row: int


@dataclass(frozen=True)
class FunctionRun:
    """What a function came to at all points.

    Attributes:
        settled: what its parameters were found to be.
        assumed: what its object was made with, in words.
        rows: the rows of the file that ran.
        lowered: how many products autocast had computed in half.
        points: in their order.
    """

    settled: Settled
    assumed: tuple[str, ...]
    rows: frozenset[int]
    lowered: int
    points: tuple[PointRun, ...]


def run_apart(
    file: AuthorFile, target: RunTarget, device: str, seed: int, settled: Settled | None = None
) -> FunctionRun:
    """Run a function in a process of its own.

    Args:
        file: the text that it is from.
        target: the function.
        device: one of `amplint.runtime.devices`.
        seed: of weights and operands.
        settled: what its parameters are, where that is known from another text.

    Raises:
        NotReplayable: it could not be run, or did not come to an end.
    """
    order = asdict(file) | {
        "target": target.name,
        "parameters": [asdict(each) for each in target.parameters],
        "region": asdict(target.region) if target.region is not None else None,
        "device": device,
        "seed": seed,
        "settled": asdict(settled) if settled is not None else None,
    }
    with tempfile.TemporaryFile() as orders, tempfile.TemporaryFile() as answer:
        orders.write(json.dumps(order).encode())
        orders.seek(0)
        command = [sys.executable, "-I", "-B", "-c", _START, *sys.path]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        with subprocess.Popen(
            command, stdin=orders, stdout=answer, stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
            cwd=os.path.dirname(file.file),
        ) as process:  # fmt: skip
            try:
                ended = _wait(process, answer)
            finally:
                process.kill()
        answer.seek(0)
        told = answer.read(ANSWER + 1).removeprefix(READY)
    return _understood(told, target, ended)


def _wait(process: subprocess.Popen[bytes], answer: IO[bytes]) -> str:
    """Wait for the end of a process; says in words how it ended."""
    deadline = time.monotonic() + _STARTING
    is_ready = False
    while process.poll() is None:
        if not is_ready and os.fstat(answer.fileno()).st_size:
            is_ready, deadline = True, time.monotonic() + WAIT
        if time.monotonic() > deadline:
            return f"gives no answer within {WAIT if is_ready else _STARTING:g} s"
        time.sleep(_PAUSE)
    code = process.returncode
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"takes more than {SECONDS} s of processor time"
    return f"ends the process ({f'exit code {code}' if code >= 0 else f'signal {-code}'})"


def _understood(told: bytes, target: RunTarget, ended: str) -> FunctionRun:
    if not told:
        raise NotReplayable(f"running `{target.name}` {ended}")
    try:
        answer = json.loads(told)
        if isinstance(answer.get("problem"), str):
            raise NotReplayable(_line(answer["problem"]))
        return FunctionRun(
            settled_as_told(answer["settled"]),
            tuple(map(_line, answer["assumed"][:_MOST])),
            frozenset(map(int, answer["rows"])),
            int(answer["lowered"]),
            tuple(map(_point, answer["points"][:_MOST])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotReplayable(f"what running `{target.name}` came to cannot be read") from error


def _line(said: str) -> str:
    return " ".join(said.split())[:_LONGEST]


def settled_as_told(told: Mapping[str, Any]) -> Settled:
    """What parameters are, as plain data.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is something else.
    """
    shapes = {each.name: told["layout"][each.name] for each in fields(Layout)}
    read: dict[str, Any] = {name: shape and tuple(map(int, shape)) for name, shape in shapes.items()}
    return Settled({str(name): str(kind) for name, kind in told["kinds"].items()}, Layout(**read))


def _point(told: Mapping[str, Any]) -> PointRun:
    dtypes = tuple(_DTYPES[each] for each in told["dtypes"])
    amp, exact, plain = (_evaluation(told[way]) for way in ("amp", "exact", "plain"))
    return PointRun(float(told["at"]), str(told["swept"]), dtypes, amp, exact, plain, int(told["row"]))


def _evaluation(told: Mapping[str, Any]) -> Evaluation:
    return Evaluation(_numbers(told["value"]), tuple(map(_numbers, told["gradients"])), _line(told["error"]))


def _numbers(told: Sequence[float]) -> torch.Tensor:
    return torch.tensor(told, dtype=torch.float64)
