"""`amplint verify` and `amplint check --fix --verify`, end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from checkout import ROOT
from click.testing import CliRunner, Result

from amplint.cli.main import main
from amplint.runtime.devices import DeviceError, require_torch

LOOP = """\
import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(x, y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
FIXED = LOOP.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn")
DEVICE = ("--device", "cuda-emulated")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays that come to a verdict which the text decides."""
    pytest.importorskip("torch")
    import small_replay

    monkeypatch.setitem(sys.modules, "amplint.runtime.replay.finding_replay", small_replay)


def amplint(*arguments: str, stdin: str | None = None) -> Result:
    """Run the program in this process."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def write(**files: str) -> None:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text)


# -- without torch -----------------------------------------------------------------------------------------------------

MISSING = "replaying needs PyTorch; install it with: pip install 'amplint[verify]'"


@pytest.mark.skipif(sys.platform != "linux", reason="hides torch from forks")
@pytest.mark.parametrize(
    "arguments", [("verify", "."), ("check", "--fix", "--verify", "."), ("check", "--diff", "--verify", ".")]
)
def test_without_torch_one_line_says_what_to_install(arguments: tuple[str, ...]) -> None:
    write(train=LOOP)
    script = "import sys; sys.modules['torch'] = None; from amplint.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"error: {MISSING}\n")
    assert Path("train.py").read_text() == LOOP


@pytest.mark.parametrize(
    ("version", "said"),
    [(None, MISSING), ("1.13.1+cpu", "replaying needs PyTorch 2.4 or newer, and this is 1.13.1+cpu")],
    ids=["a mere folder of that name", "too old"],
)
def test_a_torch_of_no_use_is_named(version: str | None, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    if version:
        torch.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(DeviceError) as error:
        require_torch()
    assert str(error.value) == said


def test_neither_help_nor_linting_imports_torch() -> None:
    write(train=LOOP)
    script = "import sys; from amplint.cli.main import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    for arguments, code in ((("verify", "--help"), 0), (("check", "--fix", "--isolated", "train.py"), 0)):
        run = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
        assert run.returncode == code, run.stderr


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_a_finding_is_replayed_for_real() -> None:
    pytest.importorskip("torch")
    write(train=LOOP)
    result = amplint("verify", ".", *DEVICE)
    assert result.exit_code == 0
    line, empty, heading, row = result.stdout.splitlines()
    assert line.startswith("train.py:11:9: AMP101 confirmed on cuda-emulated: norm seen by the optimizer ")
    assert " -> 1.00 (max_norm 1.0, reference 1.00); assumed: 6 iterations on batches of 64" in line
    assert (empty, heading.split(), row.split()) == ("", ["confirmed"], ["AMP101", "clip-before-unscale", "1"])
    assert result.stderr == "Replayed 1 finding on cuda-emulated: 1 confirmed\n"
    assert Path("train.py").read_text() == LOOP


def test_a_refuted_fix_exits_with_1(small: None) -> None:
    write(good=LOOP, ill="# unscale_\n" + LOOP)  # to the small replay, the comment is an unscale
    result = amplint("verify", *DEVICE)
    assert result.exit_code == 1
    assert [line.split()[2] for line in result.stdout.splitlines()[:2]] == ["confirmed", "refuted"]
    assert "Replayed 2 findings on cuda-emulated: 1 confirmed, 1 refuted" in result.stderr


def test_a_replay_that_fails_exits_with_2_and_harms_no_other(small: None) -> None:
    write(a=LOOP + "# DIE\n", b=LOOP, c=LOOP + "# SPIN\n", d=LOOP + "# RAISE\n", e="# unscale_\n" + LOOP)
    result = amplint("verify", *DEVICE, "--timeout", "2", "--jobs", "2")
    assert result.exit_code == 2
    said = [line.partition(" AMP101 ")[2] for line in result.stdout.splitlines()[:5]]
    assert said[0] == "error: the replay gave no verdict (exit code 3)"
    assert said[1].startswith("confirmed")
    assert said[2] == "error: the replay gave no verdict (no answer within 2 s of processor time)"
    assert said[3] == "error: RuntimeError: no kernel for this"
    assert said[4].startswith("refuted")


def test_only_what_is_selected_and_not_excluded_is_replayed(small: None) -> None:
    Path("pyproject.toml").write_text('[tool.amplint]\nexclude = ["old.py"]\n')
    write(train=LOOP, old=LOOP, new=LOOP)
    result = amplint("verify", *DEVICE, "--exclude", "new.py")
    assert [line.partition(":")[0] for line in result.stdout.splitlines()[:-3]] == ["train.py"]
    result = amplint("verify", *DEVICE, "--select", "AMP103")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No fixes to replay" in result.stderr


def test_unsafe_fixes_are_replayed_when_asked_for(small: None) -> None:
    fixture = ROOT / "fixtures" / "amp107_scheduler_not_gated" / "flagged_accumulation_guard_twice.py"
    write(train=fixture.read_text("utf-8"))
    result = amplint("verify", *DEVICE)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No fixes to replay (unsafe ones are replayed with `--unsafe-fixes`)\n"
    assert amplint("verify", *DEVICE, "--unsafe-fixes").stdout.startswith("train.py:21:13: AMP107 ")


def test_stdin_is_replayed(small: None) -> None:
    result = amplint("verify", *DEVICE, "-", "--stdin-filename", "notes/train.py", stdin=LOOP)
    assert result.exit_code == 0
    assert result.stdout.startswith("notes/train.py:11:9: AMP101 confirmed")


# -- reports -----------------------------------------------------------------------------------------------------------


def test_evidence_follows_its_schema_and_is_the_same_for_the_same_seed() -> None:
    pytest.importorskip("torch")
    schema = json.loads((ROOT / "docs" / "evidence-schema.json").read_text("utf-8"))
    write(train=LOOP, other=LOOP.replace("1.0)", "0.5)"))

    def evidence(*arguments: str) -> list[dict[str, object]]:
        assert amplint("verify", *DEVICE, "--evidence", "evidence.jsonl", *arguments).exit_code == 0
        records = [json.loads(line) for line in Path("evidence.jsonl").read_text("utf-8").splitlines()]
        for record in records:
            jsonschema.Draft202012Validator(schema).validate(record)
            assert record.pop("seconds") >= 0
        return records

    first = evidence("--jobs", "2")
    assert [record["finding"]["path"] for record in first] == ["other.py", "train.py"]  # type: ignore[index]
    assert json.dumps(first) == json.dumps(evidence("--jobs", "1"))
    assert first[0]["seed"] == 0 and evidence("--seed", "5")[0]["seed"] == 5


def test_json_is_an_array_of_evidence(small: None) -> None:
    write(train=LOOP)
    result = amplint("verify", *DEVICE, "--output-format", "json")
    (record,) = json.loads(result.stdout)
    assert record["verdict"] == "confirmed"
    assert "+        scaler.unscale_(optimizer)\n" in record["fix"]["diff"]
    Path("train.py").write_text("")
    assert json.loads(amplint("verify", *DEVICE, "--output-format", "json").stdout) == []


def test_the_page_goes_to_a_file(small: None) -> None:
    write(train=LOOP)
    result = amplint("verify", *DEVICE, "--output-format", "html", "-o", "page.html")
    assert (result.exit_code, result.stdout) == (0, "")
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    assert page.count("<article") == page.count("<figure") == 1


@pytest.mark.parametrize("option", ["--evidence", "--output-file"])
def test_a_file_that_cannot_be_written_is_an_error(small: None, option: str) -> None:
    write(train=LOOP)
    result = amplint("verify", *DEVICE, option, "nowhere/file")
    assert result.exit_code == 2
    assert "nowhere/file: cannot be written: No such file or directory" in result.stderr.replace("\\", "/")


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify", "missing.py"), "missing.py: "),
        (("verify", "--select", "AMP999"), "AMP999"),
        (("verify", "--device", "tpu"), "'tpu' is not one of"),
        (("verify", "--timeout", "0"), "--timeout"),
        (("verify", "--seed", "-1"), "--seed"),
        (("check", "--verify", "."), "`--verify` needs `--fix` or `--diff`"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    pytest.importorskip("torch")
    result = amplint(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr and "Traceback" not in result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_a_gpu_that_is_not_there_is_one_line() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    result = amplint("verify", ".", "--device", "cuda")
    assert result.exit_code == 2
    assert result.stderr == f"error: no CUDA device is available to PyTorch {torch.__version__}\n"


# -- check --fix --verify ----------------------------------------------------------------------------------------------


def test_only_confirmed_fixes_are_applied(small: None) -> None:
    write(good=LOOP, ill="# unscale_\n" + LOOP)
    result = amplint("check", "--fix", "--verify", ".")
    assert result.exit_code == 1
    assert Path("good.py").read_text() == FIXED
    assert Path("ill.py").read_text() == "# unscale_\n" + LOOP
    (told,) = [line for line in result.stderr.splitlines() if "not fixed" in line]
    assert told.startswith("ill.py:12:9: AMP101 not fixed: refuted on ")
    assert result.stdout.splitlines() == ["ill.py:12:9: AMP101 Gradients are clipped before `scaler` unscales them"]
    assert "1 finding remains in 1 of 2 files" in result.stderr and "fixable" not in result.stderr


def test_a_diff_shows_only_confirmed_fixes(small: None) -> None:
    write(good=LOOP, ill="# unscale_\n" + LOOP)
    result = amplint("check", "--diff", "--verify", ".")
    assert result.exit_code == 1
    assert "+++ good.py" in result.stdout and "ill.py" not in result.stdout
    assert Path("good.py").read_text() == LOOP


def test_a_replay_that_dies_leaves_its_finding_and_others_are_fixed(small: None) -> None:
    write(good=LOOP, ill=LOOP + "# DIE\n")
    result = amplint("check", "--fix", "--verify", ".")
    assert Path("good.py").read_text() == FIXED and Path("ill.py").read_text() == LOOP + "# DIE\n"
    assert "ill.py:11:9: AMP101 not fixed: error: the replay gave no verdict (exit code 3)" in result.stderr


def test_the_real_replay_lets_a_right_fix_pass() -> None:
    pytest.importorskip("torch")
    write(train=LOOP)
    result = amplint("check", "--fix", "--verify", "train.py")
    assert (result.exit_code, Path("train.py").read_text()) == (0, FIXED)
    assert "Fixed 1 finding in 1 file" in result.stderr


def test_a_condition_in_a_helper_of_another_file_is_answered() -> None:
    pytest.importorskip("torch")
    Path("helpers.py").write_text(
        "def tempered(logits, cool=False):\n    if cool:\n        logits = logits / 2\n    return logits\n"
    )
    Path("loss.py").write_text(
        """\
import torch
from helpers import tempered


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, target in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            p = torch.softmax(tempered(model(x)), dim=1)
            loss = -(target * torch.log(p)).sum(dim=1).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
    )
    result = amplint("verify", "loss.py", "--unsafe-fixes", "--select", "AMP305", *DEVICE)
    assert "AMP305 confirmed" in result.stdout, result.output
