"""`amplint profile`: scripts run in every precision, and what pays is told in words, numbers, JSON and a page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from browser import answer, assert_charts_fit_paper, assert_fits_a_phone
from checkout import ROOT
from forked import torch_amplint
from jsonschema import Draft202012Validator
from program import AMPLINT, amplint, environment, hear_interrupts, problems

pytest.importorskip("torch", reason="profiling needs torch: pip install 'amplint[trace]'")

from amplint.profile.profile_record import ModeSummary, ProfileRecord
from amplint.report.profile.text import meanings

PROGRAMS = Path(__file__).parent / "programs"
SHORT = ("--steps", "4", "--warmup", "2")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for each other say nothing about a program."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def profiled(*arguments: str | Path, cwd: Path = PROGRAMS) -> subprocess.CompletedProcess[str]:
    return torch_amplint("profile", *arguments, cwd=cwd, timeout=500)


def written(path: Path) -> dict[str, Any]:
    """What a run wrote, as the schema wants it."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    Draft202012Validator(json.loads((ROOT / "docs" / "profile-schema.json").read_text("utf-8"))).validate(found)
    return found


def test_a_program_is_run_in_all_modes_without_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="pages need bokeh: pip install 'amplint[trace]'")
    page, numbers = tmp_path / "page.html", tmp_path / "profile.json"
    options = ("--device", "cuda-emulated", *SHORT, "--output", numbers, "--html", page)
    done = amplint(
        "profile", *options, "healthy.py", cwd=PROGRAMS, timeout=500
    )  # as by a user, in a process of its own
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("amplint profile: healthy.py on cuda-emulated (")
    assert "Which mode is faster cannot be measured without a GPU." in done.stdout
    assert "loss" not in re.sub("losses", "", done.stdout)  # the program prints that word
    found = written(numbers)
    plain, *halves = found["modes"]
    assert [plain["mode"], *(one["mode"] for one in halves)] == ["float32", "float16", "bfloat16"]
    assert plain["distance"] == 0.0
    for one in halves:
        assert one["kept"] < 0.8 * plain["kept"]
        assert 0.0 < one["distance"] < 0.01 < 100 * found["noise"]
    assert [one["scaled"] for one in halves] == [True, False]
    assert {look["mode"]: set(look["dtypes"]) for look in found["looks"]} == {
        "float32": {"float32"}, "float16": {"float16"}, "bfloat16": {"bfloat16"},
    }  # fmt: skip
    (big,) = [one for one in found["layers"] if one["module"] == "Sequential.2"]
    assert (big["code"], big["place"], big["kind"], big["ratio"]) == ("AMP401", "healthy.py:8", "Linear", None)
    _draws(page)


def _draws(path: Path) -> None:
    """The page is whole, and a browser draws its charts."""
    page = path.read_text("utf-8")
    assert len(page) < 5_000_000
    assert not re.search(r"(?:src|href)=|url\(", re.sub(r"(?s)<script.*?</script>", "", page))
    assert answer(page, "charts(page) > 1", path.parent) == "true"
    assert_fits_a_phone(page, path.parent)
    assert_charts_fit_paper(page, path.parent)


def test_a_model_may_be_too_small() -> None:
    said = []
    for _ in range(5):  # where others use the processors, a profile may say that times differ too much to tell
        done = profiled("--device", "cpu", *SHORT, "too_small.py")
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        if "AMP does not pay here: the model is small (AMP404), with 97 weights" in done.stdout:
            return
    pytest.fail("\n".join(said))


def test_a_loader_may_be_what_takes_the_time(tmp_path: Path) -> None:
    """The regions of the program are off, as an option says: they are switched on."""
    done = profiled("--device", "cpu", *SHORT, "--output", tmp_path / "p.json", "waiting_for_data.py")
    assert done.returncode == 0, done.stderr
    assert re.search(r"AMP does not pay here: \d\d% of the time lies .*, \d\d% in the data loader;", done.stdout)
    plain, half = written(tmp_path / "p.json")["modes"]
    assert half["kept"] < plain["kept"]
    assert half["distance"] > 0.0


def test_a_precision_may_go_wrong() -> None:
    done = profiled("--device", "cuda-emulated", *SHORT, "overflowing.py")
    assert done.returncode == 1, done.stderr
    assert "float16 diverges: its losses end as NaN or infinity." in done.stdout
    assert re.search(r"^float16 .* 18 of 18 +lost$", done.stdout, re.MULTILINE)
    assert "Over 6 steps the losses of bfloat16 lie" in done.stdout


def test_a_function_is_called_again_and_again(tmp_path: Path) -> None:
    for function in ("train", "evaluate"):
        done = profiled("--device", "cpu", *SHORT, "--output", tmp_path / "p.json", f"one_step.py:{function}")
        assert done.returncode == 0, done.stderr
        found = written(tmp_path / "p.json")
        assert [one["steps"] for one in found["modes"]] == [12, 12]
        assert [len(turn["losses"]) for turn in found["turns"]] == [6] * 6


def test_a_program_without_regions_has_no_precision_to_choose(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "while True:\n    model(torch.randn(8, 4)).mean().backward()\n    optimizer.step()\n"
    )
    done = profiled("--device", "cpu", *SHORT, "plain.py", cwd=tmp_path)
    assert "The program enters no `torch.autocast` region for cpu" in done.stdout
    assert 'under `torch.autocast("cpu")` to compare precisions' in done.stdout
    assert done.returncode == 0


def test_regions_for_another_device_are_not_called_none(tmp_path: Path) -> None:
    (tmp_path / "cpu.py").write_text(
        "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "while True:\n    with torch.autocast('cpu', torch.bfloat16):\n        loss = model(torch.randn(8, 4)).mean()\n"
        "    loss.backward()\n    optimizer.step()\n"
    )
    done = profiled("--device", "cuda-emulated", *SHORT, "--output", tmp_path / "p.json", "cpu.py", cwd=tmp_path)
    assert "The regions of the program are for cpu, and it was profiled for cuda.\n  `--device cpu`" in done.stdout
    assert {turn["elsewhere"] for turn in written(tmp_path / "p.json")["turns"]} == {"cpu"}


def test_a_program_that_needs_a_gpu_is_told_of_the_emulated_one(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    (tmp_path / "gpu.py").write_text("import torch\ntorch.nn.Linear(4, 1).cuda()\n")
    for command in ("profile", "trace"):
        done = torch_amplint(command, "--device", "cpu", "gpu.py", cwd=tmp_path, timeout=500)
        assert "the program asks for a GPU: try --device cuda-emulated" in done.stdout + done.stderr, command


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("raise KeyError(step)", "KeyError: 4"),
        ("sys.exit('no more data')", "no more data"),
        ("os._exit(3)", ""),
    ],
)
def test_a_program_that_ends_early_is_told_as_far_as_it_was_seen(tmp_path: Path, ending: str, said: str) -> None:
    (tmp_path / "ends.py").write_text(
        "import os, sys\nimport torch\nmodel = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n"
        f"    if step == 4:\n        {ending}\n"
        "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = model(torch.randn(8, 4)).mean()\n"
        "    loss.backward()\n    optimizer.step()\n"
    )
    done = profiled("--device", "cpu", *SHORT, "ends.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(said) == 1 or not said
    assert "amplint" not in done.stderr
    if "_exit" in ending:
        assert "stopped: float32: the program died: exit code 3" in done.stdout
    else:
        assert re.search(r"^bfloat16 +\d", done.stdout, re.MULTILINE)
        assert "after 4 steps" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n", "the program failed before the warm-up was over: SyntaxError: invalid syntax (train.py, line 1)"),
        ("import sys\nsys.exit(3)\n", "exit code 3 before the warm-up was over"),
        (
            "",
            "the program ended before the warm-up was over; a turn takes 6 steps: try smaller `--warmup` and `--steps`",
        ),
    ],
    ids=["wrong syntax", "exit code", "empty"],
)
def test_where_nothing_was_measured_there_is_no_table(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "train.py").write_text(text)
    done = profiled("--device", "cpu", *SHORT, "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout.splitlines()[1:] == [f"stopped: float32: {said}", "Nothing was measured."]
    assert "amplint" not in done.stderr


def test_an_interrupted_profile_tells_what_it_has_seen(tmp_path: Path) -> None:
    text = (PROGRAMS / "healthy.py").read_text("utf-8")
    (tmp_path / "marks.py").write_text(f"{text}    open('stepped', 'a').write('.')\n")
    process = subprocess.Popen(
        [*AMPLINT, "profile", "--device", "cpu", "--steps", "100000", "marks.py"],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    for _ in range(600):
        time.sleep(0.2)
        if (tmp_path / "stepped").exists() and (tmp_path / "stepped").stat().st_size > 10:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "stopped: interrupted\nNothing but float32 was measured." in out
    assert re.search(r"^float32 +[\d.]+ m?s", out, re.MULTILINE), out
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nothing.py",), "nothing.py: no such file"),
        (("-m", "no.module"), "no.module: no such module"),
        (("one_step.py:nothing",), "one_step.py: has no function `nothing`"),
        (("one_step.py:fit",), "one_step.py: `fit` cannot be called without arguments"),
        (("--modes", "float8", "one_step.py"), "`float8` is none of float32, tf32, float16, bfloat16"),
        (("--output", "no/folder/p.json", "one_step.py"), "no/folder: cannot be written"),
        (("--steps", "1", "one_step.py"), "1 is not in the range x>=2"),
    ],
)
def test_bad_input_of_a_profile_is_one_line(arguments: tuple[str, ...], problem: str) -> None:
    done = profiled("--device", "cpu", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = problems(done)
    assert problem in said


@pytest.mark.parametrize("kept", [None, 4096])
def test_a_number_that_was_not_counted_is_explained(kept: int | None) -> None:
    mode = ModeSummary("float32", 5, 0.1, 0.1, 0.1, 0.0, 0.0, 1, 1, kept, 5, 0, None, False, False, ())
    record = ProfileRecord("train.py", "cpu", "a CPU", "2.13.0", 5, 1, 3, modes=[mode])
    assert any("`--warmup 2`" in line for line in meanings(record)) == (kept is None)
