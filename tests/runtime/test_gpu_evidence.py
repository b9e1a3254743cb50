"""`scripts/gpu_evidence.py`, with the emulation in the place of a GPU: it works but for the device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from program import environment

torch = pytest.importorskip("torch", reason="a GPU is asked through torch: pip install 'amplint[verify]'")

DIED = "tests/runtime/test_cuda.py::test_subnormal_results_are_kept"
WRONG = "test_an_index_assignment_of_a_constant_too_large_raises[a mask]"


def evidence(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    command = [sys.executable, "scripts/gpu_evidence.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def records(file: Path) -> list[dict[str, Any]]:
    """The lines of a part."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a part of the tests came to: arithmetic, which is quick, and of which a CPU gets two wrong."""
    out = tmp_path_factory.mktemp("gpu") / "evidence"
    done = evidence("--stand-in", "--out", str(out), "--parts", "arithmetic")
    assert (done.returncode, done.stderr) == (0, "")
    return out


def test_each_test_is_a_line_and_nothing_claims_to_be_a_gpus(folder: Path) -> None:
    head, *lines = records(folder / "arithmetic.jsonl")
    assert (head["part"], head["machine"]["gpu"], head["machine"]["torch"]) == ("arithmetic", None, torch.__version__)
    ended = {one["test"].rpartition("::")[2]: one for one in lines if "seconds" in one}
    assert (ended[WRONG]["outcome"], ended["test_subnormal_results_are_kept"]["outcome"]) == ("failed", "passed")
    assert ended[WRONG]["said"].startswith("AssertionError: expected a RuntimeError on")
    assert ["z[a mask] = -1e9", "-inf"] in ended[WRONG]["notes"]
    page = folder.with_suffix(".md").read_text("utf-8")
    assert page.startswith("# The emulation in the place of a GPU\n\nNothing here was seen on a GPU.\n")
    assert f"| arithmetic | {len(ended) - 2} | 2 | 0 | 0 |" in page and WRONG in page


def test_what_is_known_is_not_run_again_and_what_killed_the_process_is_told(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "arithmetic.jsonl").read_text("utf-8").splitlines()
    out = tmp_path / "evidence"
    out.mkdir()
    begun = json.dumps({"test": DIED, "outcome": "died"})
    kept = [line for line in lines if DIED not in line][:-4]
    (out / "arithmetic.jsonl").write_text("\n".join([*kept, begun, '{"test": "cut o']) + "\n", "utf-8")
    done = evidence("--stand-in", "--out", str(out), "--parts", "arithmetic")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "arithmetic: 2 failed, 10 passed, 1 died")
    again = (out / "arithmetic.jsonl").read_text("utf-8").splitlines()
    assert len(again) == len(kept) + 2 + 4
    assert "| test_subnormal_results_are_kept | the process died |" in out.with_suffix(".md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--stand-in",), "--stand-in needs --out: what it writes is no evidence from a GPU"),
        (("--parts", "nothing"), "no part is called nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = evidence(*arguments)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"gpu_evidence.py: error: {said}")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_written(tmp_path: Path) -> None:
    done = evidence("--out", str(tmp_path / "evidence"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no GPU is available to PyTorch (--stand-in tries this script without)\n"
    assert not list(tmp_path.iterdir())


def test_every_test_for_a_gpu_is_in_one_part() -> None:
    """Exactly one: else it would never be run, or twice."""
    sys.path.insert(0, str(ROOT / "scripts"))
    from gpu_evidence import PARTS

    command = [sys.executable, "-m", "pytest", "tests/runtime/test_cuda.py", "-m", "cuda", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120)
    tests = [line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    choices = {part.chosen: part.chosen.split(" or ") for part in PARTS}
    odd = {test for test in tests if sum(any(word in test for word in words) for words in choices.values()) != 1}
    assert tests and not odd
