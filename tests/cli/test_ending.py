"""How a run ends: when nobody takes its output, when it is told to stop, when a tree is deeper than Python's stack."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import misbehaving_pack
import pytest
from program import AMPLINT, amplint, environment, hear_interrupts, problems
from project import LOOP

DEFECT = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"
posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell and its redirections")
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")

WRITING = ("defect.py", "--diff defect.py", "--fix - <defect.py", "--statistics .", "--output-format json defect.py", "rules",
           "rules --output-format json", "explain AMP101", "config", "version", "--show-settings defect.py",
           "--add-noqa - <defect.py", "-h", "check -h", "--version")  # fmt: skip


def shell(cwd: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a shell does, with its redirections."""
    command = f'"{sys.executable}" -m amplint {line}'
    return subprocess.run(
        ["sh", "-c", command], cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "defect.py").write_text(DEFECT)
    (tmp_path / "clean.py").write_text("x = 1\n")
    return tmp_path


@posix
@full
@pytest.mark.parametrize("line", WRITING)
def test_a_report_that_finds_no_room(project: Path, line: str) -> None:
    done = shell(project, f"{line} >/dev/full")
    assert (done.returncode, done.stderr) == (
        2, "error: standard output cannot be written: No space left on device\n",
    )  # fmt: skip
    assert (project / "defect.py").read_text() == DEFECT


@posix
@pytest.mark.parametrize("line", WRITING)
def test_a_report_for_a_closed_stream(project: Path, line: str) -> None:
    done = shell(project, f"{line} >&-")
    assert (done.returncode, done.stderr) == (2, "error: standard output cannot be written: it is closed\n")


@posix
@full
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_evidence_that_finds_no_room(project: Path, form: str) -> None:
    pytest.importorskip("torch")
    done = shell(project, f"verify --device cpu --output-format {form} defect.py >/dev/full")
    assert (done.returncode, done.stderr) == (
        2, "error: standard output cannot be written: No space left on device\n",
    )  # fmt: skip


@posix
@pytest.mark.parametrize("where", ["2>&-", pytest.param("2>/dev/full", marks=full)])
def test_nobody_hears_the_summary(project: Path, where: str) -> None:
    for line, code in (("defect.py", 1), ("clean.py", 0), ("absent.py", 2), ("--no-such-option", 2)):
        done = shell(project, f"{line} {where}")
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith("defect.py:2:10: AMP209") is (line == "defect.py")


@posix
def test_with_nothing_to_write_no_stream_is_missed(project: Path) -> None:
    assert shell(project, "clean.py <&- >&- 2>&-").returncode == 0
    # A file that is opened where a stream was closed would get what is meant for the stream.
    assert shell(project, "--fix defect.py <&- >&- 2>&-").returncode == 0
    assert (project / "defect.py").read_text() == 'import torch\nscaler = torch.amp.GradScaler("cuda")\n'


@posix
def test_stdin_that_is_closed(project: Path) -> None:
    done = shell(project, "- <&-")
    assert (done.returncode, problems(done), done.stdout) == (2, ["-: cannot be read: it is closed"], "")


@posix
def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir "{gone}"; "{sys.executable}" -m amplint .'], cwd=gone, env=environment(), capture_output=True,
        text=True,
    )  # fmt: skip
    assert (done.returncode, len(problems(done)), done.stdout) == (2, 1, "")


# -- being told to stop -------------------------------------------------------------------------------------------------


def started(cwd: Path, *arguments: str, site: Path, sign: Path) -> subprocess.Popen[str]:
    """A run that has come to where it leaves a sign."""
    process = subprocess.Popen(
        [*AMPLINT, "--no-cache", *arguments], cwd=cwd, env=environment(site), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip
    deadline = time.monotonic() + 100
    while not sign.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sign.exists()
    return process


@linux
@pytest.mark.parametrize("module", ["click", "libcst", "json"])
def test_an_interrupt_while_modules_are_imported(project: Path, tmp_path: Path, module: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / f"{module}.py").write_text("import time\nopen('sign', 'w').close()\ntime.sleep(60)\n")
    process = started(project, "--output-format", "json", "defect.py", ".", site=site, sign=project / "sign")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")


@linux
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_run_that_is_terminated_ends_its_processes(project: Path, tmp_path: Path, jobs: str) -> None:
    site = misbehaving_pack.install(tmp_path / "site")
    for number in range(6):
        (project / f"slow{number}.py").write_text("hangs_here\n" + "# amplint\n" * 20_000)
    process = started(
        project, "--jobs", jobs, "slow0.py", *(f"slow{n}.py" for n in range(1, 6)), site=site, sign=project / "hanging"
    )
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    workers = [int(word) for word in listed.stdout.split()]
    assert len(workers) == (3 if jobs == "3" else 0)
    process.send_signal(signal.SIGTERM)  # as `kill` does: to this process alone
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (128 + signal.SIGTERM, "", "")
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)


# -- depth --------------------------------------------------------------------------------------------------------------


@posix
def test_folders_nested_deeper_than_calls(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 20
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with open(os.open("x.py", os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=here), "w") as file:
        file.write(DEFECT)
    os.close(here)
    name = "d/" * depth + "x.py"
    try:
        for argument in (".", name):
            done = amplint("--no-cache", argument, cwd=tmp_path)
            assert (done.returncode, problems(done)) == (1, [])
            assert done.stdout.startswith(f"{name}:2:10: AMP209")
    finally:  # pytest removes folders by recursion
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def helpers(count: int, last: str) -> str:
    chain = "".join(f"def step{n}(optimizer, loss):\n    step{n + 1}(optimizer, loss)\n" for n in range(count))
    return f"{chain}def step{count}(optimizer, loss):\n    {last}\n"


LONG = 300
CLIP = "torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]['params'], 1.0)"
CHAINS = {
    "helpers": helpers(LONG, CLIP) + LOOP.format(module="os", name="path", call="step0(optimizer, loss)"),
    "circle": helpers(LONG, f"step0(optimizer, loss); {CLIP}")
    + LOOP.format(module="os", name="path", call="step0(optimizer, loss)"),
    "names": LOOP.format(module="os", name="path", call="".join(f"o{n + 1} = o{n}; " for n in range(LONG)) + f"o{LONG}.step()")
    .replace("o1 = o0;", "o1 = optimizer;"),
    "swapped names": LOOP.format(module="os", name="path", call="a = b; b = a; scaler.unscale_(a); scaler.step(b)"),
    "attributes": "import torch\nclass A:\n    def __init__(self):\n        self.s0 = torch.amp.GradScaler('cuda')\n"
    + "".join(f"        self.s{n + 1} = self.s{n}\n" for n in range(LONG))
    + f"    def f(self, o):\n        self.s{LONG}.step(o)\n        self.s{LONG}.step(o)\n",
    "modules": "import torch\n"
    + "".join(
        f"class M{n}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = M{n + 1}()\n"
        "    def forward(self, x):\n        return self.inner(x)\n"
        for n in range(LONG)
    )
    + LOOP.format(module="os", name="path", call="M0()(loss)"),
}  # fmt: skip


@pytest.mark.parametrize("shape", CHAINS)
def test_chains_longer_than_calls_nest(tmp_path: Path, shape: str) -> None:
    (tmp_path / "chain.py").write_text(CHAINS[shape])
    began = time.monotonic()
    done = amplint("--no-cache", "chain.py", cwd=tmp_path, timeout=300)
    assert problems(done) == []
    assert done.returncode in (0, 1)
    assert time.monotonic() - began < 120


def test_the_end_of_a_chain_is_still_checked_for_itself(tmp_path: Path) -> None:
    last = f"scaler.scale(loss).backward(); {CLIP}; scaler.step(optimizer); scaler.update()"
    text = "import torch\nscaler = torch.amp.GradScaler('cuda')\n" + helpers(LONG, last)
    (tmp_path / "chain.py").write_text(text)
    done = amplint("--no-cache", "--select", "AMP101", "chain.py", cwd=tmp_path, timeout=300)
    assert (problems(done), len(done.stdout.splitlines())) == ([], 1)


def test_files_that_import_each_other(tmp_path: Path) -> None:
    count = 200
    for n in range(count):
        following = (n + 1) % count
        (tmp_path / f"part{n}.py").write_text(
            f"import torch\nfrom part{following} import step{following}\n\n\n"
            f"def step{n}(optimizer, scaler):\n    step{following}(optimizer, scaler)\n"
        )
    (tmp_path / "train.py").write_text(LOOP.format(module="part0", name="step0", call="step0(optimizer, scaler)"))
    done = amplint("--no-cache", ".", cwd=tmp_path, timeout=300)
    assert (done.returncode, problems(done), done.stdout) == (0, [], "")
