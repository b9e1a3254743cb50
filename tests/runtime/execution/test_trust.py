"""`verify --trust`: the author's own function is run where reading it was not possible, and only then and only there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

torch = pytest.importorskip("torch", reason="the author's function needs torch: pip install 'amplint[verify]'")

from forked import Forked, torch_amplint  # noqa: E402
from program import problems  # noqa: E402

from amplint.diagnostics import Diagnostic  # noqa: E402
from amplint.engine.fixed_text import apply  # noqa: E402
from amplint.engine.linter import lint_source  # noqa: E402
from amplint.engine.registry import load_rules  # noqa: E402
from amplint.model.observables import NON_FINITE  # noqa: E402
from amplint.runtime.execution import running, tree_copies  # noqa: E402
from amplint.runtime.execution.proof import execute  # noqa: E402
from amplint.runtime.verdict import CONFIRMED, EXECUTION, NOT_REPLAYABLE, REFUTED, Outcome  # noqa: E402
from amplint.source import FileLocation, Source  # noqa: E402

EMULATED = "cuda-emulated"
HELPER = "def reduced(loss, how='mean'):\n    return {'mean': loss.mean, 'sum': loss.sum}[how]()\n"
LOSS = """\
import torch
from torch import nn

from .helpers import reduced


def charbonnier(a, b):
    d = a - b
    return reduced(torch.sqrt(d * d + 1e-8))


class Head(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.fc = nn.Linear(dim, classes)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, x, labels):
        probs = torch.softmax(self.fc(x), dim=-1)
        return reduced(nn.functional.nll_loss(torch.log(probs), labels, reduction="none"))


def train(loader, optimizer, scaler):
    student, teacher = nn.Linear(16, 16).cuda(), nn.Linear(16, 16).cuda()
    for x in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = charbonnier(student(x), teacher(x))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.fixture
def copies() -> Iterator[Path]:
    with tree_copies.place_for_copies() as folder:
        yield folder


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The author's function runs in a process that has PyTorch from the beginning, where how it begins does not matter."""

    def process(
        command: Sequence[str], *, stdin: IO[bytes], stdout: IO[bytes], env: dict[str, str], cwd: str, **_: object
    ) -> Forked:
        assert command[:4] == [sys.executable, "-I", "-B", "-c"]
        with open(os.devnull, "wb") as nowhere:
            return Forked(command[3:], torch=True, cwd=cwd, env=env, streams=(stdin, stdout, nowhere))

    monkeypatch.setattr(running, "subprocess", SimpleNamespace(Popen=process, DEVNULL=subprocess.DEVNULL))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project of a package with a loss that reading does not get through."""
    package = tmp_path / "project" / "losses"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .pixel import charbonnier\n")
    (package / "helpers.py").write_text(HELPER)
    (package / "pixel.py").write_text(LOSS)
    return package.parent


def finding(source: Source, code: str) -> Diagnostic:
    found = [rule for rule in load_rules() if rule.code == code]
    return next(one for one in lint_source(source, found).diagnostics if one.fix is not None)


def outcome(tree: Path, copies: Path, code: str = "AMP302", text: str = LOSS, after: str | None = None) -> Outcome:
    """What running comes to for the first finding in the text of the project's module; `after` stands for the fixed text."""
    path = tree / "losses" / "pixel.py"
    path.write_text(text)
    source = Source(str(path), text, place=FileLocation(path, tree))
    diagnostic = finding(source, code)
    fixed = apply(source, [diagnostic])[0] if after is None else after
    repaired = Source(str(path), fixed, place=FileLocation(path, tree))
    return execute(source, repaired, diagnostic, NON_FINITE, EMULATED, 0, False, copies)


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_a_function_is_run_before_the_fix_and_after(tree: Path, copies: Path) -> None:
    found = outcome(tree, copies)
    assert (found.verdict, found.basis, found.reference["run"]) == (CONFIRMED, EXECUTION, "charbonnier")
    assert (int(found.before[NON_FINITE]) > 0, found.after[NON_FINITE]) == (True, 0)


@pytest.mark.usefixtures("forked")
def test_a_constant_at_the_top_has_run_too(tree: Path, copies: Path) -> None:
    text = LOSS.replace("1e-8", "EPS").replace("def charbonnier", "EPS = 1e-8\n\n\ndef charbonnier")
    found = outcome(tree, copies, text=text, after=text.replace("EPS = 1e-8", "EPS = 1e-5"))
    assert found.verdict != NOT_REPLAYABLE, found.reason


@pytest.mark.usefixtures("forked")
def test_a_module_is_made_with_small_sizes_and_that_is_said(tree: Path, copies: Path) -> None:
    found = outcome(tree, copies, "AMP305")
    assert (found.verdict, found.reference["run"]) == (CONFIRMED, "Head.forward"), found.reason
    assert {"`x` is float32", "`dim` of `Head` is 8", "`classes` of `Head` is 8"} <= set(found.assumed)


CRITERION = """\
import torch
from torch import nn

from .helpers import reduced


class Criterion(nn.Module):
    def __init__(self, classes, alpha, use_focal: bool, drop: float):
        super().__init__()
        self.drop, self.alpha, self.use_focal = nn.Dropout(drop), alpha, use_focal
        self.fc = nn.Linear(classes, classes)

    def losses(self, outputs, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            probs = torch.softmax(self.fc(outputs["scores"]), dim=-1)
            loss = reduced(self.alpha * -(batch["labels"] * torch.log(probs)))
        return {"loss": self.drop(loss), "note": "text"}
"""


@pytest.mark.usefixtures("forked")
def test_dictionaries_and_settings_are_made_up(tree: Path, copies: Path) -> None:
    (tree / "losses" / "__init__.py").write_text("")
    found = outcome(tree, copies, "AMP305", CRITERION)
    assert found.verdict == CONFIRMED, found.reason
    assert found.reference["run"] == "Criterion.losses"
    assert {
        "`classes` of `Criterion` is 8", "`alpha` of `Criterion` is 0.5", "`use_focal` of `Criterion` is False",
        "`drop` of `Criterion` is 0.5", "`batch['labels']` holds numbers from 0 to 1",
    } <= set(found.assumed)  # fmt: skip


WRONG = {
    "the loss is zero": ("reduced(torch.sqrt(d * d + 1e-8))", "reduced(torch.sqrt(d * d + 1e-3)) * 0"),
    "the sign is another": ("reduced(torch.sqrt(d * d + 1e-8))", "-reduced(torch.sqrt(d.float() * d.float() + 1e-8))"),
    "another reduction": ("reduced(torch.sqrt(d * d + 1e-8))", "reduced(torch.sqrt(d.float() ** 2 + 1e-8), 'sum')"),
    "it raises": ("d = a - b", "d = (a - b).float() @ b"),
    "nothing is repaired": ("d = a - b", "d = -(b - a)"),
}


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_repair_is_refuted(tree: Path, copies: Path, what: str) -> None:
    assert outcome(tree, copies, after=LOSS.replace(*WRONG[what])).verdict == REFUTED


@pytest.mark.usefixtures("forked")
def test_a_function_that_was_never_right_must_still_mean_the_same(tree: Path, copies: Path) -> None:
    never = LOSS.replace("d * d + 1e-8", "d * d * 0 + 1e-8")
    fixed = never.replace("d = a - b", "d = (a - b).float()")
    assert outcome(tree, copies, text=never, after=fixed).verdict == CONFIRMED
    assert outcome(tree, copies, text=never, after=fixed.replace("+ 1e-8", "+ 1e-4")).verdict == REFUTED


@pytest.mark.usefixtures("forked")
def test_switching_autocast_off_is_no_repair(tree: Path, copies: Path) -> None:
    found = outcome(
        tree, copies, "AMP305", after=LOSS.replace("dtype=torch.float16)\n    def", "enabled=False)\n    def")
    )
    assert (found.verdict, found.reason) == (REFUTED, "with the fix, the half precision of products is lost")


@pytest.mark.usefixtures("forked")
def test_what_else_is_changed_is_named(tree: Path, copies: Path) -> None:
    after = LOSS.replace("torch.sqrt(d * d", "torch.sqrt(d.float() ** 2").replace("scaler.update()", "pass")
    found = outcome(tree, copies, after=after)
    assert found.verdict == NOT_REPLAYABLE
    assert found.reason == "the change does more than is replayed: `pass`, `scaler.update()`"


@pytest.mark.usefixtures("forked")
def test_an_error_that_is_not_the_findings_proves_nothing(tree: Path, copies: Path) -> None:
    (tree / "losses" / "helpers.py").write_text("def reduced(loss):\n    return loss.clamp(-1e6, 1e6).mean()\n")
    found = outcome(tree, copies)
    assert found.verdict == NOT_REPLAYABLE
    assert found.reason.startswith("`charbonnier` raises for another reason (RuntimeError: value cannot be converted")


@pytest.mark.usefixtures("forked")
def test_what_cannot_be_called_is_told(tree: Path, copies: Path) -> None:
    (tree / "losses" / "helpers.py").write_text("def reduced(loss):\n    return loss.of_no_such_name()\n")
    found = outcome(tree, copies)
    assert found.reason == (
        "`charbonnier` runs on no small tensors (AttributeError: 'Tensor' object has no attribute 'of_no_such_name')"
    )


# -- what hostile code comes to ----------------------------------------------------------------------------------------

RAISES = "importing `pixel.py` raises "
REFUSED = RAISES + "PermissionError: {} is refused"
FORGED = """\
import os
for fd in range(3, 60):
    try:
        os.write(fd, b'{"points": 1}')
    except OSError:
        pass
os._exit(0)"""
HOSTILE = {
    "reaches the network": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9))",
        REFUSED.format("connecting to the network"),
    ),
    "writes beside itself": ("open(__file__ + '.out', 'w')", REFUSED.format("writing files")),
    "forks": ("import os\nwhile True:\n    os.fork()", REFUSED.format("starting a process")),
    "ends its parent": ("import os\nos.kill(os.getppid(), 9)", REFUSED.format("sending signals")),
    "eats memory": ("hoard = []\nwhile True:\n    hoard.append(bytearray(10**8))", RAISES + "MemoryError"),
    "exits": ("raise SystemExit('enough')", RAISES + "SystemExit: enough"),
    "exits at once": ("import os\nos._exit(3)", "running `charbonnier` ends the process (exit code 3)"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "running `charbonnier` ends the process (signal 11)"),
    "raises what has many lines": ("raise ValueError('one\\ntwo')", RAISES + "ValueError: one two"),
    "says a lot": ("raise ValueError('x' * 10**6)", RAISES + "ValueError: " + "x" * 288),
    "answers itself": (FORGED, "what running `charbonnier` came to cannot be read"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the words are those of Linux")
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_code_ends_in_one_line(tree: Path, copies: Path, what: str) -> None:
    deed, said = HOSTILE[what]
    before = sorted(tree.rglob("*"))
    found = outcome(tree, copies, text=f"{deed}\n{LOSS}")
    assert (found.verdict, found.reason, found.basis) == (NOT_REPLAYABLE, said, "")
    assert sorted(tree.rglob("*")) == before
    assert not list(copies.rglob("*.out"))


@pytest.mark.parametrize(
    "deed", ["import time\ntime.sleep(1000)", "while True:\n    pass"], ids=["sleeps", "never ends"]
)
def test_code_that_comes_to_no_end_is_given_up_on(
    tree: Path, copies: Path, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "WAIT", 2.0)
    assert outcome(tree, copies, text=f"{deed}\n{LOSS}").reason == "running `charbonnier` gives no answer within 2 s"


def test_code_that_prints_is_not_heard(tree: Path, copies: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loud = "import sys, os\nprint('LOUD')\nos.write(1, b'LOUD')\nos.write(2, b'LOUD')\nsys.stderr.write('LOUD')\n"
    assert outcome(tree, copies, text=loud + LOSS).verdict == CONFIRMED
    assert "LOUD" not in "".join(capfd.readouterr())


def test_the_environment_stays_outside(tree: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    text = "import os\nassert 'SECRET_TOKEN' not in os.environ\n" + LOSS
    assert outcome(tree, copies, text=text).verdict == CONFIRMED


# -- the command -------------------------------------------------------------------------------------------------------


def _verify(
    tree: Path, *options: str, at: Path | None = None, path: str = "losses"
) -> tuple[list[dict[str, object]], str]:
    kept = tree.parent / "evidence.jsonl"
    usual = (
        "--isolated",
        "--no-cache",
        "--select",
        "AMP302",
        "--device",
        EMULATED,
        "--jobs",
        "1",
        "--evidence",
        str(kept),
    )
    done = torch_amplint("verify", path, *usual, *options, cwd=at or tree)
    assert (done.returncode, problems(done)) == (0, []), done.stderr
    return [json.loads(line) for line in kept.read_text("utf-8").splitlines()], done.stdout


def test_a_file_outside_of_the_project_is_run_from_its_own_folder(tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said = _verify(tree, "--trust", at=elsewhere, path=str(tree / "losses"))[1]
    assert "confirmed" in said and "run charbonnier" in said


def test_without_the_flag_nothing_of_the_authors_runs(tree: Path) -> None:
    for path in tree.rglob("*.py"):
        path.write_text(f"open({str(tree.parent / 'was_run')!r}, 'a').write(__name__)\n{path.read_text()}")
    (record,), said = _verify(tree)
    assert (record["verdict"], record["reason"], record["basis"]) == (NOT_REPLAYABLE, "reduced", "")
    assert not (tree.parent / "was_run").exists()
    _, said = _verify(tree, "--trust")
    assert "importing `pixel.py` raises PermissionError: writing files is refused" in said
    assert not (tree.parent / "was_run").exists()


def test_with_the_flag_the_verdict_rests_on_execution(tree: Path) -> None:
    (record,), said = _verify(tree, "--trust")
    assert (record["verdict"], record["basis"]) == (CONFIRMED, EXECUTION)
    assert "run charbonnier" in said
