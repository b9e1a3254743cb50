"""The GitHub Action: its scripts, run as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

pytestmark = pytest.mark.skipif(shutil.which("bash") is None or os.name != "posix", reason="needs bash")

FLAGGED = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"
SCRIPTS = ROOT / ".github" / "action"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A checkout of a user with a finding; `amplint` in it is that of this Python."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(FLAGGED)
    program = tmp_path / "amplint"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -m amplint "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(work: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step of the action, with these inputs and the defaults of the others; `AMPLINT`... are variables of the job."""
    job = {name: value for name, value in inputs.items() if name.isupper()}
    inputs = {name: value for name, value in inputs.items() if name not in job}
    given = {f"INPUT_{name.upper()}": value for name, value in {**defaults(), **inputs}.items()}
    runner = {
        "AMPLINT": str(work / "amplint"),
        "AMPLINT_PYTHON": sys.executable,
        "GITHUB_STEP_SUMMARY": str(work / "summary.md"),
        "GITHUB_OUTPUT": str(work / "output"),
        "AMPLINT_CACHE_DIR": str(work / "cache"),
    }
    return subprocess.run(
        ["bash", SCRIPTS / "run"],
        cwd=work,
        env={**os.environ, **runner, **given, **job},
        capture_output=True,
        text=True,
    )


def action() -> dict[str, Any]:
    """What `action.yml` says."""
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return found


def defaults() -> dict[str, str]:
    """The inputs that the script is given when a workflow says nothing."""
    inputs = {name.replace("-", "_"): one["default"] for name, one in action()["inputs"].items()}
    return {name: inputs[name] for name in ("paths", "args", "fail_on", "sarif_file", "summary")}


def test_annotations_a_summary_and_sarif(work: Path) -> None:
    done = run(work)
    assert done.returncode == 1, done.stderr
    assert re.match(r"::\w+ title=amplint \(AMP209\),file=src/train.py,line=2,", done.stdout)
    assert (work / "summary.md").read_text().startswith("## amplint: 1 finding in 1 file\n")
    (log,) = json.loads((work / "amplint.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in log["results"]] == ["AMP209"]
    assert (work / "output").read_text() == "exit-code=1\nsarif-file=amplint.sarif\n"


def test_the_installation_and_a_run_with_what_it_installed(work: Path) -> None:
    told = work / "environment"
    told.touch()
    runner = {"RUNNER_TEMP": str(work / "runner"), "GITHUB_ENV": str(told), "AMPLINT_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", SCRIPTS / "install"], cwd=work, env={**os.environ, **runner}, capture_output=True, text=True
    )
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("pip reaches no index of packages here")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"amplint \S+\n", done.stdout)
    installed = dict(line.split("=", 1) for line in told.read_text().splitlines())
    assert Path(installed["AMPLINT"]).is_relative_to(work / "runner")
    ran = run(work, **installed)
    assert ran.returncode == 1 and "title=amplint (AMP209)" in ran.stdout


def test_without_findings(work: Path) -> None:
    (work / "src" / "train.py").write_text("x = 1\n")
    (work / "summary.md").write_text("What another step wrote.\n")
    done = run(work)
    assert (done.returncode, done.stdout) == (0, "")
    assert (work / "summary.md").read_text() == "What another step wrote.\n## amplint: no findings\n"


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"fail_on": "never"}, 0),
        ({"fail_on": "error"}, 0),
        ({"args": "--ignore AMP209"}, 0),
        ({"args": "--exclude 'sr*'"}, 0),
        ({"paths": "nowhere"}, 2),
        ({"args": "--no-such-option"}, 2),
        ({"args": "it's"}, 2),
        ({"fail_on": "sometimes"}, 2),
        ({"paths": "src 'src/train.py'", "summary": "false", "sarif_file": ""}, 1),
    ],
)
def test_inputs(work: Path, inputs: dict[str, str], code: int) -> None:
    assert run(work, **inputs).returncode == code
    assert (work / "amplint.sarif").exists() or code == 2 or "sarif_file" in inputs


def test_what_the_workflow_says_is_never_a_command(work: Path) -> None:
    for name in ("paths", "args", "fail_on", "sarif_file"):
        run(work, **{name: "$(touch pwned) `touch pwned`; touch pwned"})
        run(work, **{name: '"; touch pwned; "'})
    (work / "shlex.py").write_text("open('pwned', 'w')\n")
    run(work)
    assert not (work / "pwned").exists()


def test_every_input_reaches_the_script_and_every_output_is_written() -> None:
    said = action()
    step = next(step for step in said["runs"]["steps"] if step.get("id") == "run")
    assert {value.split(".")[1].split()[0] for value in step["env"].values()} == {
        "paths", "args", "fail-on", "sarif-file", "summary",
    }  # fmt: skip
    script = (SCRIPTS / "run").read_text()
    assert all(f"${{{name}:-" in script for name in step["env"])
    assert all(f"{name}=" in script for name in said["outputs"])
    assert all(str(each["run"]).endswith(('install"', 'run"')) for each in said["runs"]["steps"] if "run" in each)


def test_scripts_are_bash() -> None:
    for script in SCRIPTS.iterdir():
        subprocess.run(["bash", "-n", script], check=True)
