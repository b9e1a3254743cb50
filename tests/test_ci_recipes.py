"""The recipes of docs/ci.md: they are YAML, and what they run of amplint runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
RECIPES = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
_SCHEMAS = {
    ".github/workflows/amplint.yml": "vendor.github-workflows",
    ".gitlab-ci.yml": "vendor.gitlab-ci",
    "azure-pipelines.yml": "vendor.azure-pipelines",
}
FLAGGED = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"


def commands() -> list[str]:
    """All commands of the page that call amplint."""
    blocks = re.findall(r"^(?:```sh\n(.*?)^```|    (amplint .*?)$)", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in "".join(block).splitlines()]
    lines += [line for _, text in RECIPES for step in scripts(loaded(text)) for line in step.splitlines()]
    return sorted({line.partition(" # ")[0].strip() for line in lines if line.lstrip().startswith("amplint ")})


def loaded(text: str) -> Any:
    return pytest.importorskip("yaml").safe_load(text)


def scripts(recipe: Any) -> Iterator[str]:
    """What a recipe has a shell run, and the arguments of hooks."""
    if isinstance(recipe, dict):
        for key, value in recipe.items():
            if key == "script":
                yield from [value] if isinstance(value, str) else value
            elif key == "args" and isinstance(value, list):
                yield shlex.join(["amplint", *value])
            elif key == "args":
                yield f"amplint {value}"
            else:
                yield from scripts(value)
    elif isinstance(recipe, list):
        for each in recipe:
            yield from scripts(each)


def test_every_recipe_is_yaml_with_a_file_name() -> None:
    assert [name for name, _ in RECIPES] == [
        ".github/workflows/amplint.yml", ".gitlab-ci.yml", "azure-pipelines.yml", ".pre-commit-config.yaml",
    ]  # fmt: skip
    assert all(isinstance(loaded(text), dict) for _, text in RECIPES)


@pytest.mark.parametrize("name", [*_SCHEMAS, "action.yml"])
def test_the_services_would_take_them(tmp_path: Path, name: str) -> None:
    """By the schemas of GitHub, GitLab and Azure, which check-jsonschema has in it."""
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema: pip install '.[dev]'")
    path = tmp_path / Path(name).name
    path.write_text(dict(RECIPES).get(name) or (ROOT / name).read_text("utf-8"))
    schema = _SCHEMAS.get(name, "vendor.github-actions")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    path.write_text("stages: 3\njobs: 3\nruns: 3\n")
    assert subprocess.run(command, capture_output=True).returncode == 1


def test_the_inputs_of_the_action_are_those_of_the_page() -> None:
    inputs = loaded((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    table = dict(re.findall(r"^\| `([\w-]+)` \| (?:`(.*?)`)? *\|", PAGE, re.MULTILINE))
    assert table == {name: str(one["default"]) for name, one in inputs.items()}
    (used,) = re.findall(r"uses: OWNER/amplint@REVISION\n +with:\n((?: {10}.*\n)+)", PAGE)
    assert {line.split(":")[0].strip() for line in used.splitlines()} <= inputs.keys()


@pytest.mark.skipif(os.name != "posix", reason="recipes are for a shell")
def test_what_the_page_tells_to_run_runs(tmp_path: Path) -> None:
    """In a repository with a finding, on a branch: each command does its work."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(FLAGGED)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "x"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    here = f'amplint() {{ "{sys.executable}" -I -m amplint "$@"; }}\n'
    environment = {**os.environ, "AMPLINT_CACHE_DIR": str(tmp_path / "cache")}

    def run(line: str) -> int:
        done = subprocess.run(
            ["bash", "-c", here + line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert "error:" not in done.stderr, (line, done.stderr)
        return done.returncode

    first = "amplint --baseline amplint-baseline.json --update-baseline"
    for number in (1, 2, 3):
        assert run(f"amplint --shard {number}/3 --exit-zero --output-format json -o part{number}.json") == 0
    told = [line for line in commands() if "--history" not in line or find_spec("bokeh")]
    told = [line for line in told if "--watch" not in line]  # which ends with Ctrl-C
    assert first in told and len(told) >= 8
    assert {line: run(line) for line in [first, *told]}.keys() == {first, *told}
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"amplint-baseline.json", "gl-code-quality-report.json", "amplint.xml", "amplint.json"}
