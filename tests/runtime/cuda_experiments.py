"""Small experiments whose outcome on a GPU is to be known: each runs on any device and says what it saw.

`test_cuda` holds what a GPU says against what is expected of one; `test_cuda_experiments` runs the same on a CPU, so that the
experiments themselves are known to be in order before they meet a GPU.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from autocast_samples import SAMPLES, Make
from checkout import ROOT
from program import amplint, problems

from amplint.runtime.devices import EMULATED
from amplint.runtime.emulation.cuda_autocast import cuda_autocast, region
from amplint.runtime.emulation.kernels import overload
from amplint.runtime.measures.timing import Clock, Work, gpu_clock
from amplint.runtime.recording.recorder import Recorder

F = torch.nn.functional
HALF, BFLOAT, SINGLE = torch.float16, torch.bfloat16, torch.float32
CPU, CUDA = "cpu", "cuda"
STAND_IN = bool(os.environ.get("AMPLINT_STAND_IN"))
"""Whether the emulation takes the place of the GPU, so that what is asked of one can be tried without."""
GPU, CHOICE = (CPU, EMULATED) if STAND_IN else (CUDA, CUDA)
"""Where tensors of the GPU are, and what `--device` calls it."""


def answer(ask: Callable[[], Any]) -> Any:
    """What is answered, or how torch refuses."""
    try:
        return ask()
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


# -- arithmetic in float16 ---------------------------------------------------------------------------------------------

INDICES: dict[str, Callable[[str], Any]] = {
    "a list of indices": lambda device: torch.tensor([0, 2], device=device),
    "a mask": lambda device: torch.tensor([True, False, True], device=device),
    "a number": lambda device: 0,
    "a slice": lambda device: slice(0, 2),
}


def assigned(device: str, by: str) -> Any:
    """`z[...] = -1e9` on float16: the first element afterwards, or the error."""
    z = torch.zeros(3, dtype=HALF, device=device)

    def assign() -> float:
        z[INDICES[by](device)] = -1e9
        return float(z[0])

    return answer(assign)


def divided(device: str) -> Any:
    """A float16 zero, divided by a float32 tensor without dimensions that holds 1e-8."""
    return torch.zeros(1, dtype=HALF, device=device) / torch.tensor(1e-8, device=device)


def masked(device: str) -> list[float]:
    """`(1 - mask) * -1e9` where the mask is 0, and where it is 1, all in float16."""
    mask = torch.tensor([0.0, 1.0], dtype=HALF, device=device)
    return [float(value) for value in (1 - mask) * -1e9]


def subnormals(device: str) -> dict[str, float]:
    """2**-24, the smallest float16 number, come by in several ways."""
    small = torch.full((16, 16), 2.0**-12, dtype=HALF, device=device)
    unit = torch.eye(16, dtype=HALF, device=device)
    return {
        "product": float((small * small)[0, 0]),
        "matrix product": float((small @ (small * unit))[0, 0]),
        "cast": float(torch.full((1,), 2.0**-24, dtype=SINGLE, device=device).to(HALF)),
        "sum of subnormals": float(torch.full((2,), 2.0**-25 * 2, dtype=HALF, device=device).sum() / 2),
    }


MISMATCHED: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda single, half: F.linear(single, half),
    "linear with a bias": lambda single, half: F.linear(single, half, half[0]),
    "matmul": lambda single, half: single @ half,
    "addmm": lambda single, half: torch.addmm(single, single, half),
    "bmm": lambda single, half: torch.bmm(single[None], half[None]),
    "conv1d": lambda single, half: F.conv1d(single[None], half[:, :, None]),
}


def mismatch(device: str, name: str) -> Any:
    """What an operation says to a float32 and a float16 operand."""
    single = torch.ones(4, 4, device=device)
    return answer(lambda: MISMATCHED[name](single, single.to(HALF)).dtype)


# -- autocast ----------------------------------------------------------------------------------------------------------


@contextmanager
def cuda_region(device: str, dtype: Any) -> Iterator[None]:
    """CUDA's autocast: on a GPU the real one, on a CPU the emulated."""
    if device == CUDA:
        with torch.autocast("cuda", dtype=dtype):
            yield
    else:
        with cuda_autocast(), region(dtype):
            yield


class _Real(Make):
    """Makes tensors that hold data on a GPU, too."""

    def __call__(self, *size: int) -> Any:
        return torch.empty(size).uniform_(0.1, 0.9).to(self.device, self.dtype)


def result_dtypes(device: str, name: str, dtype: Any, given: Any) -> Any:
    """The dtypes that an operation answers with in a region; "refused" where it raises, `ABSENT` where it has no kernel."""

    def ask() -> list[Any]:
        with cuda_region(device, dtype):
            result = overload(name)(*SAMPLES[name](_Real(torch, given, device)))
        several = result if isinstance(result, (tuple, list)) else [result]
        return [one.dtype for one in several if one is not None]

    answered = answer(ask)
    if isinstance(answered, str):
        return ABSENT if "not implemented for" in answered or "Could not run" in answered else "refused"
    return answered


ABSENT = "no kernel"
"""What is said of an operation that a device does not have for some dtypes; which these are differs from version to version."""


def clock(work: Work) -> Clock:
    """Reads the time that work takes on the GPU; on the stand-in, by the clock on the wall."""

    def read() -> float:
        began = time.perf_counter()
        work()
        return (time.perf_counter() - began) * 1e6

    return read if STAND_IN else gpu_clock(work)


def recurrent_dtypes(device: str, kind: str, dtype: Any) -> set[Any]:
    """The dtypes of the results of a recurrent layer in a region."""
    layer = getattr(torch.nn, kind)(4, 3).to(device)
    with cuda_region(device, dtype):
        out, state = layer(torch.rand(5, 2, 4, device=device))
    return {one.dtype for one in (out, *(state if kind == "LSTM" else [state]))}


class _Probe(torch.autograd.Function):  # type: ignore[misc]  # torch is Any to mypy
    """Notes in which precision a matrix product runs during the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Any, seen: list[Any]) -> Any:
        ctx.seen = seen
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        ctx.seen.append((gradient @ gradient).dtype)
        return gradient, None


def dtype_of_backward_inside(device: str, dtype: Any) -> Any:
    """The precision of a product of float32 matrices in a backward pass that is called inside a region."""
    seen: list[Any] = []
    loss = _Probe.apply(torch.ones(4, 4, device=device, requires_grad=True), seen).sum()
    with torch.autocast(device, dtype=dtype):
        loss.backward()
    (one,) = seen
    return one


class Seeing(torch.nn.Module):  # type: ignore[misc]
    """A layer that notes the precision of its results; replicas of it share the notes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        """The layer's result."""
        result = self.layer(x)
        self.seen.append(result.dtype)
        return result


# -- optimizers and scalers --------------------------------------------------------------------------------------------


class Stepped(NamedTuple):
    """What a step through a scaler did."""

    moved: bool
    gradient: list[float]
    hook_calls: int
    steps_in_state: list[float]
    scale: float


def fused_step(device: str, optimizer: str, overflow: bool, half: bool = False) -> Stepped:
    """One step of a fused optimizer through a scaler (65536), for true gradients 1, 2 and 3; the first may overflow."""
    parameter = torch.nn.Parameter(torch.ones(3, device=device, dtype=HALF if half else SINGLE))
    owner = getattr(torch.optim, optimizer)([parameter], lr=0.25, fused=True)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0 if half else 65536.0)
    calls: list[int] = []
    owner.register_step_post_hook(lambda *_: calls.append(1))
    loss = (parameter * torch.tensor([1.0, 2.0, 3.0], device=device, dtype=parameter.dtype)).sum()
    scaler.scale(loss).backward()
    if overflow:
        parameter.grad[0] = float("inf")
    before = parameter.detach().clone()
    scaler.step(owner)
    steps = [float(state["step"]) for state in owner.state.values() if "step" in state]
    gradient = [float(value) for value in parameter.grad]
    moved = not torch.equal(before, parameter.detach())
    scaler.update()
    return Stepped(moved, gradient, len(calls), steps, scaler.get_scale())


class Recorded(NamedTuple):
    """What a recorder saw of a training."""

    hazards: list[str]
    skipped: list[bool]
    norms: list[float]


def recorded(device: str, unscales: bool) -> Recorded:
    """Three iterations under a recorder, the second of which overflows; gradients are clipped to 1, unscaled or not."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0)
    batch = torch.randn(4, 8).to(device)
    with Recorder() as recording:
        for factor in (1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            with torch.autocast(device, dtype=HALF):
                loss = (model(batch * factor).float() - 3.0).square().mean()
            scaler.scale(loss).backward()
            if unscales:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
    steps = [one for one in recording.events if type(one.event).__name__ == "ScalerStep"]
    norms = [one.values["norm"] for one in steps if not one.values["skipped"]]
    return Recorded(
        [hazard.kind for hazard in recording.hazards],
        [one.values["skipped"] is True for one in steps],
        [norm for norm in norms if isinstance(norm, float)],
    )


# -- replays -----------------------------------------------------------------------------------------------------------


def one_fixture_of_each_rule() -> list[Path]:
    """The first fixture with a fix in each folder."""
    folders = sorted(path for path in (ROOT / "fixtures").iterdir() if path.is_dir())
    fixed = [sorted(folder.glob("flagged_*.fixed.py")) for folder in folders]
    return [each[0].with_name(each[0].name.replace(".fixed.py", ".py")) for each in fixed if each]


def evidence(device: str, paths: Sequence[Path], scratch: Path, *more: str) -> list[dict[str, Any]]:
    """The evidence that `amplint verify` gathers on a device."""
    file = scratch / f"{device}.jsonl"
    options = ("--isolated", "--no-cache", "--unsafe-fixes", "--device", device, "--evidence", file)
    done = amplint("verify", *paths, *options, *more, cwd=ROOT, timeout=1800)
    assert problems(done) == [], done.stderr
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def verdicts(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The verdict on each finding, by its place and code."""
    return {
        f"{one['finding']['path']}:{one['finding']['row']}:{one['finding']['column']} {one['finding']['code']}": one[
            "verdict"
        ]
        for one in records
    }


def kernel_names(work: Callable[[], object], on: Any) -> list[str]:
    """What a profiler calls the work that was done on a kind of device (`torch.autograd.DeviceType`)."""
    activity = torch.profiler.ProfilerActivity
    wanted = [activity.CPU, activity.CUDA] if on == torch.autograd.DeviceType.CUDA else [activity.CPU]
    with torch.profiler.profile(activities=wanted) as profile:
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return sorted({event.name for event in profile.events() if event.device_type == on})
