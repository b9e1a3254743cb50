"""What only a GPU can say. Skips itself without one; with one, this settles what is expected of a GPU but was never seen:

    python scripts/gpu_evidence.py

runs it in parts and writes down what each test came to. Where something definite is expected it is asserted, and a failure says
what was seen instead. What depends on the model of the GPU, or on the version of PyTorch, is noted and fails nothing.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="a GPU is asked through torch: pip install 'amplint[verify]'")

import cuda_experiments as lab  # noqa: E402
from autocast_samples import SAMPLES  # noqa: E402
from checkout import ROOT  # noqa: E402
from cuda_experiments import BFLOAT, CHOICE, CPU, GPU, HALF, SINGLE, STAND_IN  # noqa: E402

from amplint.model.observables import PRODUCT_TIME  # noqa: E402
from amplint.runtime.devices import EMULATED  # noqa: E402
from amplint.runtime.emulation.cuda_table import registered_overloads, runs_on_cpu  # noqa: E402
from amplint.runtime.measures.linear_products import LinearSizes, judge_times, products  # noqa: E402
from amplint.runtime.measures.timing import Times, Work, in_turns, spread  # noqa: E402
from amplint.runtime.verdict import CONFIRMED, EXECUTION, NOT_OBSERVABLE  # noqa: E402

GPUS = torch.cuda.device_count() if torch.cuda.is_available() else int(STAND_IN)
CAPABILITY = torch.cuda.get_device_capability() if GPUS and not STAND_IN else (9, 0)
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
ON_BOTH = [name for name in registered_overloads() if runs_on_cpu(name)]
AMPERE = (8, 0)
"""The first capability whose Tensor Cores take bfloat16."""

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not GPUS, reason="needs a GPU"),
    pytest.mark.filterwarnings(
        "default"
    ),  # a GPU, or a newer torch, may have something to say that matters nowhere here
]

REAL = pytest.mark.skipif(STAND_IN, reason="needs a GPU, and none in its place")
FOLDERS = sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())
Note = Callable[[str, object], None]
Property = Callable[[str, object], None]
Timed = Callable[[str, Times], None]


@pytest.fixture
def note(record_property: Property) -> Note:
    """Records what was seen."""
    return lambda name, value: record_property("note", [name, str(value)])


@pytest.fixture
def differs(record_property: Property) -> Note:
    """Records where the GPU, or this version of PyTorch, is another than was written down; it fails nothing."""
    return lambda name, value: record_property("difference", [name, str(value)])


@pytest.fixture
def timed(record_property: Property) -> Timed:
    """Records the medians of two kinds of work, what is saved, and the spreads: the distances of the quartiles."""

    def write(name: str, times: Times) -> None:
        median = statistics.median
        measured = {
            "before": median(times.before), "after": median(times.after), "saved": median(times.savings),
            "spread before": spread(times.before), "spread after": spread(times.after),
            "spread saved": spread(times.savings), "rounds": len(times.before), "said": in_words(times),
        }  # fmt: skip
        record_property("timing", [name, measured])

    return write


def compared(before: Work, after: Work) -> Times:
    """How long two kinds of work take on the GPU."""
    return in_turns(lab.clock(before), lab.clock(after))


def in_words(times: Times) -> str:
    """The medians, and what is saved."""
    outcome = judge_times(times, {}, 0.0)
    return outcome.reason or f"median {outcome.before['median']:.2f} -> {outcome.after['median']:.2f} us, confirmed"


# -- arithmetic in float16 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["a list of indices", "a mask"])
def test_an_index_assignment_of_a_constant_too_large_raises(by: str, note: Note) -> None:
    seen = lab.assigned(GPU, by)
    note(f"z[{by}] = -1e9", seen)
    assert isinstance(seen, str), (
        f"expected a RuntimeError on GPU, where a CPU makes it -inf; the element became {seen}"
    )


@pytest.mark.parametrize("by", ["a number", "a slice"])
def test_what_other_assignments_of_it_do(by: str, note: Note) -> None:
    seen = lab.assigned(GPU, by)
    note(f"z[{by}] = -1e9", seen)
    assert isinstance(seen, str) or seen == -math.inf, f"neither an error nor -inf: {seen}"


def test_a_float32_divisor_without_dimensions(note: Note) -> None:
    quotient = lab.divided(GPU)
    value = float(quotient)
    note("float16 0 / 0-dim float32 1e-8", "nan: rounded to float16 first" if math.isnan(value) else value)
    assert quotient.dtype is HALF, f"a 0-dim divisor must not promote, but the result is {quotient.dtype}"
    assert math.isnan(value) or value == 0, (
        f"neither 0 (the divisor keeps its precision) nor nan (it is rounded): {value}"
    )


def test_an_additive_mask_of_1e9_overflows_without_nan(note: Note) -> None:
    seen = lab.masked(GPU)
    note("(1 - mask) * -1e9 at mask 0 and 1", seen)
    assert seen == lab.masked(CPU) == [-math.inf, 0.0], f"expected [-inf, -0.0], as on a CPU: {seen}"


def test_subnormal_results_are_kept(note: Note) -> None:
    seen = lab.subnormals(GPU)
    note("2**-24 in float16", seen)
    assert seen == dict.fromkeys(seen, 2.0**-24), f"subnormal float16 results are lost on this GPU: {seen}"


@pytest.mark.parametrize("name", lab.MISMATCHED)
def test_the_words_of_a_dtype_mismatch(name: str, note: Note, differs: Note) -> None:
    seen = lab.mismatch(GPU, name)
    note(f"{name}(float32, float16)", seen)
    assert isinstance(seen, str), f"expected a RuntimeError; {name} answered in {seen}"
    if name in ("matmul", "linear"):
        expected = "expected mat1 and mat2 to have the same dtype, but got: float != c10::Half"
        if seen != f"RuntimeError: {expected}":
            differs(f"the words of torch {torch.__version__} for {name}(float32, float16)", seen)


# -- autocast ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ON_BOTH)
def test_the_emulation_answers_in_the_dtypes_of_the_gpu(name: str, differs: Note) -> None:
    if name not in SAMPLES:
        differs(f"an overload of torch {torch.__version__} that nobody has looked at", name)
        return
    for dtype in (HALF, BFLOAT) if CAPABILITY >= AMPERE else (HALF,):
        for given in (SINGLE, HALF, BFLOAT):
            real, emulated = (lab.result_dtypes(device, name, dtype, given) for device in (GPU, CPU))
            if lab.ABSENT in (real, emulated):
                if real != emulated:
                    differs(f"{name} of {given} in a region of {dtype}", f"{real} on the GPU, {emulated} on the CPU")
                continue
            assert real == emulated, f"{name} of {given} in a region of {dtype}: {real} on CUDA, {emulated} emulated"


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_answer_in_the_dtype_of_the_region(kind: str) -> None:
    assert lab.recurrent_dtypes(GPU, kind, HALF) == lab.recurrent_dtypes(CPU, kind, HALF) == {HALF}


def test_a_backward_pass_inside_a_bfloat16_region(note: Note) -> None:
    seen = lab.dtype_of_backward_inside(GPU, BFLOAT)
    note("product in a backward pass inside a bfloat16 region", seen)
    expected = BFLOAT if VERSION >= (2, 5) else HALF
    assert seen is expected, (
        f"PyTorch {torch.__version__} carries the precision of the region to the threads of autograd only from 2.5 on; "
        f"expected {expected}, seen {seen}"
    )


@pytest.mark.skipif(GPUS < 2, reason="needs two GPUs")
def test_replicas_of_data_parallel_run_in_float16_whatever_the_region_says(note: Note) -> None:
    model = lab.Seeing().cuda()
    parallel = torch.nn.DataParallel(model, device_ids=[0, 1])
    with torch.autocast("cuda", dtype=BFLOAT):
        parallel(torch.ones(8, 8, device="cuda"))
    note("precisions of the replicas in a bfloat16 region", sorted(map(str, model.seen)))
    assert len(model.seen) == 2, f"expected two replicas, {len(model.seen)} ran"
    assert set(model.seen) == {HALF}, f"DataParallel hands on that autocast is on, not its dtype; seen {model.seen}"


@REAL
def test_bfloat16_support_counts_emulation_unless_told_otherwise(note: Note) -> None:
    counting, native = torch.cuda.is_bf16_supported(), torch.cuda.is_bf16_supported(including_emulation=False)
    note("is_bf16_supported, with and without emulation", (counting, native))
    assert native is (CAPABILITY >= AMPERE), f"capability {CAPABILITY}, bfloat16 without emulation: {native}"
    assert counting, "emulation counts by default, so that every GPU supports bfloat16"


@pytest.mark.skipif(GPUS > 0 and CAPABILITY >= AMPERE, reason="needs a GPU older than Ampere")
def test_bfloat16_without_tensor_cores_is_slow(note: Note, timed: Timed) -> None:
    layer = [LinearSizes(1024, 1024)]
    times = compared(products(layer, BFLOAT, GPU, 0), products(layer, HALF, GPU, 0))
    timed("bfloat16 -> float16", times)
    ones = torch.ones(1, 8, 16, 16, device=GPU, dtype=BFLOAT)
    note(
        "bfloat16 convolution",
        lab.answer(lambda: torch.nn.functional.conv2d(ones, torch.ones_like(ones[..., :3, :3])).dtype),
    )
    assert times.saved(0.02) is True, f"expected bfloat16 to be slower than float16: {in_words(times)}"


# -- optimizers and scalers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overflow", [False, True], ids=["clean", "overflow"])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_a_fused_step_does_what_it_does_on_a_cpu(optimizer: str, overflow: bool) -> None:
    seen, expected = (lab.fused_step(device, optimizer, overflow) for device in (GPU, CPU))
    assert seen == expected, f"fused {optimizer} on CUDA: {seen}; on a CPU: {expected}"


def test_a_fused_step_takes_half_gradients() -> None:
    assert lab.fused_step(GPU, "Adam", False, half=True).moved


@pytest.mark.parametrize("unscales", [True, False])
def test_the_recorder_sees_on_a_gpu_what_it_sees_on_a_cpu(unscales: bool) -> None:
    seen, expected = (lab.recorded(device, unscales) for device in (GPU, CPU))
    assert (seen.hazards, seen.skipped) == (expected.hazards, expected.skipped)
    assert seen.norms == pytest.approx(expected.norms, rel=1e-2)


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "aligned"), [(1365, 1368), (1364, 1368), (300, 304), (500, 512)])
@REAL
def test_products_of_misaligned_sizes_are_slower(size: int, aligned: int, note: Note, timed: Timed) -> None:
    dtype = BFLOAT if CAPABILITY >= AMPERE else HALF
    standing, resized = (
        products([LinearSizes(1024, width), LinearSizes(width, 1024)], dtype, GPU, 0) for width in (size, aligned)
    )
    times = compared(standing, resized)
    timed(f"linear layers, {size} -> {aligned} (AMP401)", times)
    for width, work in ((size, standing), (aligned, resized)):
        note(f"kernels for {width}", lab.kernel_names(work, torch.autograd.DeviceType.GPU))
    assert min(times.before + times.after) > 0
    if size % 2:  # rows of an odd length are aligned to 2 bytes, the worst there is
        assert times.saved(0.02) is True, f"expected {size} to be slower than {aligned}: {in_words(times)}"


@pytest.mark.parametrize(("channels", "aligned"), [(61, 64), (60, 64)])
def test_how_much_slower_convolutions_of_misaligned_channels_are(channels: int, aligned: int, timed: Timed) -> None:
    def convolution(width: int) -> Work:
        images = torch.randn(1 if STAND_IN else 32, width, 56, 56, device=GPU, dtype=HALF)
        weight = torch.randn(width, width, 3, 3, device=GPU, dtype=HALF)

        def work() -> None:
            torch.nn.functional.conv2d(images, weight, padding=1)

        return work

    times = compared(convolution(channels), convolution(aligned))
    timed(f"convolutions, {channels} -> {aligned} channels (AMP402)", times)
    assert min(times.before + times.after) > 0


@REAL
def test_what_evaluation_gains_by_autocast(note: Note, timed: Timed) -> None:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(GPU).eval()
    x = torch.randn(8192, 1024, device=GPU)
    seen: list[Any] = []

    def plain() -> None:
        with torch.no_grad():
            seen.append(model(x).dtype)

    def autocast() -> None:
        with torch.autocast("cuda", dtype=HALF, cache_enabled=False):
            plain()

    times = compared(plain, autocast)
    timed("evaluation, in float32 -> under autocast", times)
    note("peak memory in bytes", [_peak(work) for work in (plain, autocast)])
    assert set(seen) == {SINGLE, HALF}, f"expected float32 results without the region and float16 within: {set(seen)}"


def _peak(work: Work) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    standing = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - standing)


# -- replays -----------------------------------------------------------------------------------------------------------


def test_replays_come_to_the_verdicts_of_the_emulation(tmp_path: Path) -> None:
    """One fixture of each rule; what shows on a GPU alone may show there."""
    chosen = lab.one_fixture_of_each_rule()
    real, emulated = (lab.verdicts(lab.evidence(device, chosen, tmp_path)) for device in (CHOICE, EMULATED))
    assert real.keys() == emulated.keys()
    differing = {
        finding: (real[finding], emulated[finding])
        for finding in real
        if real[finding] != emulated[finding] and emulated[finding] != NOT_OBSERVABLE
    }
    assert differing == {}, "verdicts on GPU, and emulated"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_fix_of_a_fixture_is_refuted_on_a_gpu(folder: str, tmp_path: Path, note: Note) -> None:
    records = lab.evidence(CHOICE, [Path("fixtures", folder)], tmp_path)
    for one in records:
        if one["measured"]["what"] == PRODUCT_TIME:
            note(f"{one['finding']['path']}: {one['measured']['reference'].get('layers')}", one["reason"] or CONFIRMED)
    verdicts = lab.verdicts(records)
    note(
        f"fixtures of {folder}",
        ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts.values()).items()),
    )
    bad = {place: verdict for place, verdict in verdicts.items() if verdict in ("refuted", "error")}
    assert bad == {}


def test_the_authors_own_function_runs_on_a_gpu(tmp_path: Path, note: Note) -> None:
    """Where a helper of another file cannot be read: with `--trust`, and only with it."""
    (tmp_path / "helpers.py").write_text(AUTHORS_HELPER)
    (tmp_path / "loss.py").write_text(AUTHORS_LOSS)
    (record,) = lab.evidence(CHOICE, [tmp_path / "loss.py"], tmp_path, "--trust", "--select", "AMP305")
    note("the author's function", (record["verdict"], record["reason"]))
    assert (record["verdict"], record["basis"]) == (CONFIRMED, EXECUTION), record["reason"]


AUTHORS_HELPER = "def reduced(loss, how):\n    return {'mean': loss.mean, 'sum': loss.sum}[how]()\n"
AUTHORS_LOSS = """\
import torch
from torch import nn
from helpers import reduced


class Head(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.fc = nn.Linear(dim, classes)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x):
        probs = torch.softmax(self.fc(x), dim=-1)
        return -reduced(torch.log(probs), "mean")
"""
