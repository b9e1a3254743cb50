"""`amplint verify NEW --against OLD`: a patch, whoever wrote it, judged finding by finding."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from checkout import ROOT
from click.testing import CliRunner, Result
from notebook_harness import cell, notebook
from test_cli_verify import DEVICE, FIXED, LOOP

from amplint.cli.main import main

pytest.importorskip("torch")

CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
TOO_LATE = LOOP.replace("        scaler.step", "        scaler.unscale_(optimizer)\n        scaler.step")
SCHEDULED = """\
import torch


def train(model, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda")
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=100)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
"""
OTHER = LOOP.replace("def train", "def tune").partition("\n\n")[2]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


def put(folder: str, **files: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        Path(folder, f"{name}.py").write_text(text)


def judge(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["verify", *arguments, *DEVICE, "--no-cache", "-j", "1"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def verdicts(*arguments: str) -> dict[str, str]:
    """The verdict on each finding, by its file, its code and its line."""
    result = judge(*arguments, "--output-format", "json")
    found = json.loads(result.stdout)["findings"]
    return {f"{one['finding']['path']}:{one['finding']['row']}": one["verdict"] for one in found}


def lint(*arguments: str) -> Any:
    """The findings of `amplint check`."""
    return json.loads(CliRunner().invoke(main, ["check", *arguments, "--no-cache", "--output-format", "json"]).stdout)


def commit(**files: str) -> None:
    put(".", **files)
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "First")):
        subprocess.run([*git, *command], check=True)


# -- one file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "verdict", "exit_code"),
    [
        (FIXED, "confirmed", 0),
        (FIXED.replace("def train", '"""Trains."""\n\n\ndef train'), "confirmed", 0),
        (TOO_LATE, "refuted", 1),
        (LOOP.replace(CLIP, ""), "refuted", 1),
        (LOOP.replace("(optimizer)\n", "(optimizer\n"), "refuted", 1),
        ("# Trains.\n" + LOOP, "still there", 0),
        (LOOP.replace("for x, y", "for x, y  "), "still there", 0),
        ("import torch\n", "removed", 0),
        (FIXED.replace("train", "tune"), "not replayable: `train` has become `tune`", 0),
    ],
    ids=["right", "moved", "too late", "no clip", "broken", "a comment", "layout", "deleted", "renamed"],
)
def test_a_file_is_judged_whoever_changed_it(new: str, verdict: str, exit_code: int) -> None:
    put("old", train=LOOP)
    put("new", train=new)
    result = judge("new/train.py", "--against", "old/train.py")
    assert result.stdout.startswith(f"old/train.py:11:9: AMP101 {verdict}"), result.stdout
    assert result.exit_code == exit_code
    assert Path("old/train.py").read_text() == LOOP and Path("new/train.py").read_text() == new


def test_what_a_patch_adds_is_new_and_what_it_leaves_is_not() -> None:
    put("old", train=FIXED, both=LOOP + "\n\n" + OTHER)
    put("new", train=LOOP, both=FIXED + "\n\n" + OTHER)
    assert verdicts("new", "--against", "old") == {
        "old/both.py:11": "confirmed",
        "old/both.py:24": "still there",
        "new/train.py:11": "new",
    }
    result = judge("new", "--against", "old")
    assert result.exit_code == 1
    assert "new/both.py: partly (1 confirmed, 1 still there)\nnew/train.py: refuted (1 new)\n" in result.stdout


def test_of_two_findings_on_the_same_line_of_text_the_repaired_one_is_confirmed() -> None:
    put("old", train=LOOP + "\n\n" + OTHER)
    put("new", train=LOOP + "\n\n" + OTHER.replace(CLIP, "        scaler.unscale_(optimizer)\n" + CLIP))
    assert verdicts("new", "--against", "old") == {"old/train.py:11": "still there", "old/train.py:24": "confirmed"}


def test_a_finding_without_a_fix_is_judged_too() -> None:
    printed = SCHEDULED.replace("scheduler.step()", 'print("rate", scheduler.step())')
    gated = SCHEDULED.replace(
        "        scaler.step", "        before = scaler.get_scale()\n        scaler.step"
    ).replace("scheduler.step()", 'if scaler.get_scale() >= before:\n            print("rate", scheduler.step())')
    put("old", train=printed)
    put("new", train=gated)
    assert lint("old")[0]["fix"] is None
    assert verdicts("new", "--against", "old") == {"old/train.py:14": "confirmed"}


def test_what_another_defect_hides_is_judged_with_that_one_repaired() -> None:
    stray = LOOP.replace("        scaler.step(optimizer)\n", "        optimizer.step()\n")
    put("old", train=stray)
    put("new", train=stray.replace("        torch.nn", "        scaler.unscale_(optimizer)\n        torch.nn"))
    result = judge("new/train.py", "--against", "old/train.py")
    assert "AMP101 confirmed" in result.stdout and "repaired before and after" in result.stdout, result.stdout


def test_files_that_were_renamed_are_followed() -> None:
    put("old", train=LOOP, other=LOOP)
    put("new", run=FIXED, other=LOOP)
    assert verdicts("new", "--against", "old") == {"old/other.py:11": "still there", "old/train.py:11": "confirmed"}


def test_a_function_that_has_moved_to_another_file_adds_nothing() -> None:
    put("old", train=LOOP, tune="import torch\n")
    put("new", train="import torch\n", tune=LOOP)
    assert verdicts("new", "--against", "old") == {"old/train.py:11": "still there"}


@pytest.mark.parametrize(
    "more", ["", " if config.mixed_precision else None", "  # made once, and kept for all epochs of a run"]
)
def test_a_line_that_has_moved_to_another_function_is_still_there(more: str) -> None:
    made = "    scaler = torch.cuda.amp.GradScaler()"
    old = f"import torch\n\n\ndef train(amp):\n{made}\n    return scaler\n"
    new = f"import torch\n\n\ndef train(scaler):\n    return scaler\n\n\ndef main(amp):\n{made}{more}\n    train(scaler)\n"
    put("old", train=old)
    put("new", train=new)
    assert verdicts("new", "--against", "old") == {"old/train.py:5": "still there"}


def test_another_line_of_another_function_is_new() -> None:
    put("old", train="import torch\n\n\ndef train():\n    first = torch.cuda.amp.GradScaler()\n    return first\n")
    other = "def main(amp):\n    state.scaler = torch.cuda.amp.GradScaler(enabled=amp)\n"
    put("new", train=f"import torch\n\n\ndef train():\n    return None\n\n\n{other}")
    assert verdicts("new", "--against", "old")["new/train.py:9"] == "new"


def test_what_other_files_do_counts_on_each_side() -> None:
    helper = LOOP.partition("def train")[0] + "def clip(model, scaler, optimizer):\n" + CLIP.replace("        ", "    ")
    loop = LOOP.replace("import torch", "import torch\nfrom helper import clip")
    loop = loop.replace(CLIP, "        clip(model, scaler, optimizer)\n")
    put("old", train=loop, helper=helper)
    put("new", train=loop, helper=helper.replace("    torch", "    scaler.unscale_(optimizer)\n    torch"))
    assert verdicts("new", "--against", "old") == {"old/train.py:12": "confirmed"}


def test_notebooks_are_compared() -> None:
    Path("old.ipynb").write_text(notebook(cell(LOOP)))
    Path("new.ipynb").write_text(notebook(cell(FIXED)))
    result = judge("new.ipynb", "--against", "old.ipynb")
    assert result.exit_code == 0
    assert result.stdout.startswith("old.ipynb:cell 1:11:9: AMP101 confirmed"), result.stdout


# -- forms -------------------------------------------------------------------------------------------------------------


def test_json_and_evidence_follow_their_schemas() -> None:
    put("old", train=LOOP, gone=LOOP)
    put("new", train=FIXED, more=LOOP.replace("1.0)", "2.0)"), gone="import torch\n")
    result = judge("new", "--against", "old", "--output-format", "json", "--evidence", "kept.jsonl")
    shown = json.loads(result.stdout)
    schemas = {
        name: json.loads((ROOT / "docs" / name).read_text())
        for name in ("comparison-schema.json", "evidence-schema.json")
    }
    resources = [(name, referencing.Resource.from_contents(schema)) for name, schema in schemas.items()]
    registry: Any = referencing.Registry().with_resources(resources)
    jsonschema.Draft202012Validator(schemas["comparison-schema.json"], registry=registry).validate(shown)
    assert {one["path"]: one["verdict"] for one in shown["files"]} == {
        "new/gone.py": "removed",
        "new/more.py": "refuted",
        "new/train.py": "confirmed",
    }
    kept = [json.loads(line) for line in Path("kept.jsonl").read_text().splitlines()]
    assert [one | {"seconds": 0} for one in kept] == [one | {"seconds": 0} for one in shown["findings"]]
    (right,) = [one for one in kept if one["verdict"] == "confirmed"]
    assert right["fix"]["applicability"] == "patch" and right["fix"]["path"] == "new/train.py"
    assert "+        scaler.unscale_(optimizer)\n" in right["fix"]["diff"]


def test_the_page_has_a_verdict_on_each_file() -> None:
    put("old", train=LOOP)
    put("new", train=FIXED)
    page = judge("new", "--against", "old", "--output-format", "html").stdout
    assert (
        '<td>new/train.py</td><td class="good">confirmed</td>' in page and "amplint verify PATHS --against OLD" in page
    )


def test_nothing_to_judge_is_said() -> None:
    put("old", train=FIXED)
    put("new", train=FIXED)
    result = judge("new", "--against", "old")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "No findings on either side\n")


# -- git ---------------------------------------------------------------------------------------------------------------


def test_a_revision_is_what_the_paths_were() -> None:
    commit(train=LOOP, same=LOOP)
    put(".", train=FIXED, more=LOOP.replace("1.0)", "2.0)"))
    expected = {"HEAD:same.py:11": "still there", "HEAD:train.py:11": "confirmed", "more.py:11": "new"}
    assert verdicts("--against", "HEAD") == expected
    assert verdicts("train.py", "same.py", "--against", "HEAD") == {name: expected[name] for name in list(expected)[:2]}


def test_a_revision_is_found_from_below_and_from_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    put("repo/src", train=LOOP)
    monkeypatch.chdir("repo")
    commit()
    put("src", train=FIXED)
    monkeypatch.chdir("src")
    assert verdicts("--against", "HEAD") == {"HEAD:train.py:11": "confirmed"}
    monkeypatch.chdir("../..")
    assert verdicts("repo/src", "--against", "HEAD") == {"HEAD:repo/src/train.py:11": "confirmed"}


def test_the_settings_of_each_side_hold_for_it() -> None:
    Path("amplint.toml").write_text('ignore = ["AMP101"]\n')
    commit(train=LOOP)
    Path("amplint.toml").unlink()
    assert verdicts("--against", "HEAD") == {"train.py:11": "new"}


def test_reading_a_revision_runs_nothing_of_the_repository() -> None:
    commit(train=LOOP)
    Path("train.py").write_text(FIXED)
    trap = f"touch {Path('trap').absolute()}"
    Path(".gitattributes").write_text("*.py filter=x diff=x\n")
    for name in (
        "core.fsmonitor",
        "filter.x.smudge",
        "filter.x.clean",
        "diff.x.textconv",
        "core.pager",
        "core.sshCommand",
    ):
        subprocess.run(["git", "config", name, trap], check=True)
    for hook in Path(".git/hooks").iterdir():
        hook.rename(hook.with_suffix("")).write_text(f"#!/bin/sh\n{trap}\n")
    assert verdicts("--against", "HEAD") == {"HEAD:train.py:11": "confirmed"}
    assert not Path("trap").exists()


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--against", "nowhere"), "`nowhere` is no revision of the git repository"),
        (("--against", "--all"), "`--all` is no revision of the git repository"),
        (("late.py", "--against", "HEAD"), "late.py is not in `HEAD`"),
        (("train.py", "..", "--against", "HEAD"), ".. lies outside of the git repository at "),
        (("missing.py", "--against", "train.py"), "missing.py does not exist"),
        (("train.py", "--against", "."), "`--against` wants a folder for a folder, and a file for a file"),
        (("train.py", "late.py", "--against", "train.py"), "`--against PATH` is for one path"),
        (("-", "--against", "HEAD"), "`--against` compares files, and `-` is none"),
        (("--against", "HEAD", "--unsafe-fixes"), "`--unsafe-fixes` says nothing with `--against`"),
        (("late.py", "--against", "train.py", "--evidence", "train.py"), "`--evidence` would overwrite `train.py`"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("repo").mkdir()
    monkeypatch.chdir("repo")
    commit(train=LOOP)
    put(".", late=LOOP)
    result = judge(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {said}") and result.stderr.count("\n") == 1, result.stderr


def test_without_a_repository_or_without_git_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    put(".", train=LOOP)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    assert judge("--against", "HEAD").stderr == "error: `HEAD` is no file or folder, and . lies in no git repository\n"
    monkeypatch.setenv("PATH", "")
    result = judge("--against", "HEAD")
    assert (result.exit_code, result.stderr) == (2, "error: `git` is not installed, or not on the PATH\n")
