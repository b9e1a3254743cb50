"""Replays side by side: their order, their failures, their device."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from checkout import ROOT

from amplint.diagnostics import Applicability, Edit, Fix
from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixer import fixable
from amplint.runtime.device_choice import choose_device
from amplint.runtime.devices import AUTO, CPU, CUDA, EMULATED, Device, DeviceError
from amplint.runtime.evidence import Evidence
from amplint.runtime.repairs import FixableFinding
from amplint.runtime.verdict import CONFIRMED, ERROR, NOT_REPLAYABLE, REFUTED
from amplint.runtime.verify import ReplayPlan, Verifier, verify_findings
from amplint.source import Source

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

import small_replay  # noqa: E402

LOOP = """\
import torch

scaler = torch.amp.GradScaler("cuda")


def step(model, optimizer, x):
    with torch.amp.autocast("cuda", dtype=torch.float16):
        loss = model(x).sum()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
DEVICE = Device(CPU, "any", "AVX2", "2.13.0")
HOW = ReplayPlan(small_replay.replay, DEVICE, seed=3, jobs=2)


def finding(text: str = LOOP, path: str = "train.py") -> FixableFinding:
    """The one finding in a text that has a fix."""
    source = Source(path, text)
    report = check_source(source, Settings(ROOT, select=("AMP101", "AMP901")), ROOT / path)
    (diagnostic,) = fixable(report, unsafe=False)
    return FixableFinding(source, diagnostic)


def verdicts(evidence: Sequence[Evidence]) -> list[str]:
    return [one.outcome.verdict for one in evidence]


def test_before_and_after_are_measured() -> None:
    (one,) = verify_findings([finding()], HOW)
    assert one.outcome.verdict == CONFIRMED
    assert one.outcome.before["norm"] == pytest.approx(1 / 65536, rel=1e-3)
    assert one.outcome.after["norm"] == pytest.approx(1.0, rel=1e-3)
    assert "unscale_" not in one.before.text
    assert one.after.text == LOOP.replace("    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn")
    assert one.device == DEVICE and one.seed == 3 and one.seconds > 0


def test_each_fix_stands_alone() -> None:
    twice = LOOP + LOOP[LOOP.index("\n\ndef") :].replace("def step", "def other")
    source = Source("train.py", twice)
    found = fixable(check_source(source, Settings(ROOT, select=("AMP101",)), ROOT / "train.py"), unsafe=False)
    first, second = verify_findings([FixableFinding(source, one) for one in found], HOW)
    assert first.after.text.count("unscale_") == second.after.text.count("unscale_") == 1
    assert first.after.text != second.after.text


def test_evidence_comes_in_the_order_of_the_findings_whatever_happens_to_some() -> None:
    findings = [finding(text) for text in (LOOP, LOOP + "# DIE", LOOP, LOOP + "# SPIN", LOOP + "# RAISE", LOOP)]
    progress: list[tuple[int, int]] = []
    began = time.monotonic()
    found = list(verify_findings(findings, HOW._replace(limit=2.0), lambda done, total: progress.append((done, total))))
    assert time.monotonic() - began < 300
    assert verdicts(found) == [CONFIRMED, ERROR, CONFIRMED, ERROR, ERROR, CONFIRMED]
    assert [one.outcome.reason for one in found if one.outcome.verdict == ERROR] == [
        "the replay gave no verdict (exit code 3)",
        "the replay gave no verdict (no answer within 2 s of processor time)",
        "RuntimeError: no kernel for this",
    ]
    assert progress == [(done, 6) for done in range(1, 7)]


def test_the_same_seed_gives_the_same_numbers_whatever_ran_before() -> None:
    alone = next(iter(verify_findings([finding()], HOW)))
    others = [finding(LOOP.replace("1.0", limit)) for limit in ("0.5", "2.0", "1.0")]
    assert [one.outcome for one in verify_findings(others, HOW._replace(jobs=1))][2] == alone.outcome
    assert next(iter(verify_findings([finding()], HOW._replace(seed=4)))).outcome.series != alone.outcome.series


def test_a_fix_that_breaks_the_file_is_refuted_without_a_replay() -> None:
    source, diagnostic = finding()
    start = diagnostic.range.start.offset
    broken = replace(diagnostic, fix=Fix("Break it", (Edit(start, start, "("),), Applicability.SAFE))
    (one,) = verify_findings([FixableFinding(source, broken)], HOW)
    assert (one.outcome.verdict, one.outcome.reason) == (REFUTED, "with the fix the file does not compile")


def test_a_comment_is_not_replayed() -> None:
    (one,) = verify_findings([finding("import torch\n\nscaler = torch.amp.GradScaler()  # noqa: AMP101\n")], HOW)
    assert one.diagnostic.code == "AMP901"
    assert one.outcome.verdict == NOT_REPLAYABLE


def test_what_was_replayed_once_is_known_and_processes_stay() -> None:
    with Verifier(HOW._replace(jobs=1)) as verifier:
        first = list(verifier.findings([finding(), finding(LOOP + "# DIE"), finding(path="other.py")]))
        assert list(verifier.findings([finding(LOOP + "# DIE"), finding()])) == [first[1], first[0]]
        (other,) = verifier.findings([finding(LOOP.replace("1.0", "2.0"))])
    assert verdicts([*first, other]) == [CONFIRMED, ERROR, CONFIRMED, CONFIRMED]


def test_nothing_to_replay_starts_nothing() -> None:
    assert list(verify_findings([], HOW)) == []


@pytest.fixture
def _no_gpu() -> Iterator[None]:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    yield


def test_the_devices_without_a_gpu(_no_gpu: None) -> None:
    assert choose_device(AUTO).kind == EMULATED
    assert choose_device(EMULATED) == choose_device(AUTO)
    device = choose_device(CPU)
    assert device.kind == CPU and device.name and device.capability and device.torch == torch.__version__
    with pytest.raises(DeviceError, match="no CUDA device is available"):
        choose_device(CUDA)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_is_the_strongest_device() -> None:
    torch.zeros(1, device="cuda")  # a process that uses CUDA itself can still ask
    device = choose_device(AUTO)
    assert device.kind == CUDA and device == choose_device(CUDA)
    assert device.name == torch.cuda.get_device_name() and "." in device.capability
    (one,) = verify_findings([finding()], HOW._replace(device=device))
    assert one.outcome.verdict == CONFIRMED


def test_this_process_stays_free_of_replays() -> None:
    threads, pid = torch.get_num_threads(), os.getpid()
    list(verify_findings([finding(LOOP + "# DIE")], HOW))
    assert (torch.get_num_threads(), os.getpid()) == (threads, pid)
