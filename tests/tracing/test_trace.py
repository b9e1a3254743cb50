"""`amplint trace`: scripts run as ever, and what their mixed precision does is told at the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forked import torch_amplint
from program import amplint, problems

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

SCRIPT = """\
import sys

import torch
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    gain = 1.0

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        q, k = self.q(x) * self.gain, self.k(x) * self.gain
        scores = q @ k.transpose(-2, -1)
        return torch.softmax(scores, -1) @ x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.out = Attention(), nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.attention(x).mean(1))


model = Net().to("DEVICE")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("DEVICE")
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.99)
for step in range(int(sys.argv[1])):
    x, y = torch.randn(8, 5, 16, device="DEVICE"), torch.randint(4, (8,)).to("DEVICE")
    Attention.gain = 300.0 if "--overflow" in sys.argv and step >= 3 else 1.0
    optimizer.zero_grad()
    with torch.autocast("DEVICE", dtype=torch.HALF):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    print(step, loss.item().hex())
"""


def script(folder: Path, device: str = "cuda", half: str = "float16") -> Path:
    """The training script in a file."""
    path = folder / "train.py"
    path.write_text(SCRIPT.replace("DEVICE", device).replace("HALF", half))
    return path


def traced(folder: Path, *arguments: str, device: str = "cuda-emulated") -> subprocess.CompletedProcess[str]:
    return torch_amplint("trace", "--device", device, *arguments, cwd=folder, timeout=300)


def traced_anew(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Traced on the CPU as by a user, in a process that has imported nothing."""
    return amplint("trace", "--device", "cpu", *arguments, cwd=folder, timeout=300)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("ops", [(), ("--ops",)], ids=["modules", "operations"])
def test_a_traced_program_computes_what_it_computes_alone(tmp_path: Path, ops: tuple[str, ...]) -> None:
    path = script(tmp_path, "cpu", "bfloat16")
    alone = subprocess.run([sys.executable, path, "6"], capture_output=True, text=True, check=True, cwd=tmp_path)
    done = traced_anew(tmp_path, *ops, "train.py", "6")
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    assert "6 steps, 0 skipped" in done.stderr


def test_the_operation_that_overflows_is_named(tmp_path: Path) -> None:
    script(tmp_path)
    done = traced(tmp_path, "--ops", "--output", "trace.jsonl", "train.py", "5", "--overflow")
    assert done.returncode == 0, done.stderr
    *steps, run = rows(tmp_path / "trace.jsonl")
    assert [step["taken"] for step in steps] == [True, True, True, False, False]
    first = run["first"]
    assert (first["step"], first["operation"], first["module"], first["place"]) == (
        4, "bmm", "Net.attention", "train.py:18",
    )  # fmt: skip
    assert first["why"].startswith("overflow: ")
    assert "beyond 65504" in first["why"]
    assert "Net.attention.q.weight" in steps[3]["nonfinite"]
    assert [step["scale"] for step in steps] == [65536.0] * 4 + [32768.0]


def test_without_operations_the_module_is_named(tmp_path: Path) -> None:
    script(tmp_path)
    done = traced(tmp_path, "train.py", "5", "--overflow")
    assert "step 4, forward pass" in done.stderr
    assert "`Net.attention` (Attention)" in done.stderr


def test_what_happens_is_told_in_the_words_of_the_linter(tmp_path: Path) -> None:
    script(tmp_path)
    done = traced(tmp_path, "train.py", "5", "--overflow")
    (line,) = [line for line in done.stderr.splitlines() if "AMP" in line]
    said = "`scheduler` advances even when `scaler` skips the optimizer step"
    assert line == (f"train.py:46: AMP107 {said} (found by reading and seen 2 times, first in step 4)")


def test_a_healthy_run_is_silent(tmp_path: Path) -> None:
    script(tmp_path)
    done = traced(tmp_path, "--fail-on", "hazards,nonfinite,skips>0", "train.py", "4")
    assert done.returncode == 0
    assert "No value that is not finite has reached the loss or the gradients." in done.stderr
    assert "warning" not in done.stderr.lower().replace("userwarning", "")
    assert "AMP" not in done.stderr


@pytest.mark.parametrize("what", ["hazards", "nonfinite", "skips>0.1"])
def test_a_gate_fails_on_what_it_names(tmp_path: Path, what: str) -> None:
    script(tmp_path)
    assert traced(tmp_path, "-q", "--fail-on", what, "train.py", "5", "--overflow").returncode == 1


def test_a_run_ends_after_so_many_steps_or_at_the_first_loss(tmp_path: Path) -> None:
    script(tmp_path)
    assert traced(tmp_path, "--steps", "2", "train.py", "50").stdout.count("\n") == 1
    (tmp_path / "plain.py").write_text(
        "import torch\n\nweight = torch.nn.Parameter(torch.ones(2))\noptimizer = torch.optim.SGD([weight], 1.0)\n"
        "for step in range(9):\n    (weight / (2 - step)).sum().backward()\n    optimizer.step()\n    print(step)\n"
    )
    done = traced(tmp_path, "--ops", "--until-nonfinite", "plain.py", device="cpu")
    assert done.stdout == "0\n1\n"
    assert "plain.py:6: `div`" in done.stderr
    assert "Step 3 was taken with gradients that are not finite" in done.stderr


def test_every_step_with_a_defect_is_told(tmp_path: Path) -> None:
    script(tmp_path)
    done = traced(tmp_path, "-q", "--output", "trace.jsonl", "--html", "trace.html", "train.py", "6", "--overflow")
    assert done.returncode == 0, done.stderr
    (defect,) = rows(tmp_path / "trace.jsonl")[-1]["defects"]
    assert (defect["step"], defect["steps"]) == (4, [4, 5, 6])
    assert '"name":"defects"' in (tmp_path / "trace.html").read_text()


def test_a_run_ends_once(tmp_path: Path) -> None:
    """What is written down at the end, such as a gradient that was read, does not end the run again."""
    (tmp_path / "reads.py").write_text(
        "import torch\n\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "while True:\n    model(torch.ones(1, 2)).sum().backward()\n    try:\n        optimizer.step()\n"
        "    finally:\n        norm = model.weight.grad\n"
    )
    done = traced(tmp_path, "--steps", "2", "reads.py", device="cpu")
    assert done.returncode == 0, done.stderr
    assert "2 steps were traced" in done.stderr


def test_the_programs_own_ending_is_kept(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import sys\nprint(sys.argv)\nsys.exit(7)\n")
    done = traced_anew(tmp_path, "ends.py", "--device", "x")
    assert (done.returncode, done.stdout) == (7, "['ends.py', '--device', 'x']\n")
    (tmp_path / "raises.py").write_text("def f():\n    raise KeyError(3)\n\nf()\n")
    done = traced_anew(tmp_path, "-q", "raises.py")
    assert done.returncode == 1
    assert done.stderr.startswith('Traceback (most recent call last):\n  File "')
    assert "amplint" not in done.stderr
    assert done.stderr.endswith("KeyError: 3\n")


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert traced(tmp_path, "-m", "package.main", "a", device="cpu").stdout == "__main__ ['a']\n"


def test_a_script_imports_what_it_imports_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("tools", "package"):
        (tmp_path / folder).mkdir()
    (tmp_path / "package" / "__init__.py").write_text("name = 'found'\n")
    (tmp_path / "tools" / "train.py").write_text("import package\nprint(package.name)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    assert traced_anew(tmp_path, "tools/train.py").stdout == "found\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_library\n", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise RuntimeError('of the package')\n", "RuntimeError: of the package"),
    ],
)
def test_what_a_package_raises_is_told_as_python_tells_it(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(text)
    (tmp_path / "package" / "train.py").touch()
    done = traced(tmp_path, "-m", "package.train", device="cpu")
    assert done.returncode == 1
    told, report = done.stderr.split("amplint trace: ")
    assert told.startswith("Traceback (most recent call last):") and told.endswith(f"\n{error}\n")
    assert "amplint" not in told and "runpy" not in told
    assert report.splitlines()[0].endswith(error)
    assert report.splitlines()[1:] == ["The program failed before an optimizer stepped."]


def test_a_gpu_that_is_not_there_takes_pinned_memory(tmp_path: Path) -> None:
    (tmp_path / "pins.py").write_text(
        "import torch\ndata = torch.utils.data.TensorDataset(torch.ones(4, 2))\n"
        "loader = torch.utils.data.DataLoader(data, 2, pin_memory=True)\n"
        "print([batch.pin_memory().to('cuda', non_blocking=True).sum().item() for batch, in loader])\n"
    )
    done = traced(tmp_path, "--quiet", "pins.py")
    assert (done.returncode, done.stdout) == (0, "[4.0, 4.0]\n"), done.stderr


def test_a_process_that_the_program_forks_leaves_no_report(tmp_path: Path) -> None:
    path = script(tmp_path, "cpu", "bfloat16")
    path.write_text(
        path.read_text().replace("import torch\n", "import os, torch\nchild = os.fork()\n", 1)
        + "if child:\n    os.waitpid(child, 0)\n"
    )
    done = traced(tmp_path, "--output", "trace.jsonl", "train.py", "3", device="cpu")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("amplint trace: ") == 1
    assert [row.get("number") for row in rows(tmp_path / "trace.jsonl")] == [1, 2, 3, None]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nothing.py",), "nothing.py: no such file"),
        (("-m", "no.module"), "no.module: no such module"),
        (("-m", "package"), "package: is a package without `__main__`"),
        (("--output", "no/folder", "a.py"), "no/folder: cannot be written: No such file or directory"),
        (("--fail-on", "worse", "a.py"), "`worse` is none of hazards, nonfinite, skips>SHARE"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    (tmp_path / "a.py").write_text("print('ran')\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    done = traced(tmp_path, *arguments, device="cpu")
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = problems(done)
    assert problem in said
