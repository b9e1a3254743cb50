"""The example of a rule pack works as it stands: it is installed beside amplint, and its tests hold and can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from checkout import ROOT
from program import AMPLINT, environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = ROOT / "examples" / "rule_pack"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the example, installed: what its entry points say stands in the metadata of a folder of packages."""
    copy = shutil.copytree(EXAMPLE, tmp_path / "pack", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    project = tomllib.loads((copy / "pyproject.toml").read_text("utf-8"))["project"]
    site = tmp_path / "site"  # not where the tests run: what lies in the current folder installs nothing
    shutil.move(copy / "team_amp_rules", site / "team_amp_rules")
    metadata = site / "team_amp_rules-1.0.0.dist-info"
    metadata.mkdir()
    points = project["entry-points"]["amplint.rules"]
    lines = [f"{name} = {value}\n" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("".join(["[amplint.rules]\n", *lines]))
    return copy


def run(pack: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A program that finds the pack among what is installed."""
    found = {**environment(), "PYTHONPATH": str(pack.with_name("site"))}
    return subprocess.run(command, cwd=pack, env=found, capture_output=True, text=True, timeout=120)


def own_tests(pack: Path) -> subprocess.CompletedProcess[str]:
    """The tests of the pack."""
    return run(pack, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(pack), "tests")


def test_the_tests_of_the_example_pass(pack: Path) -> None:
    ran = own_tests(pack)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_finding_without_a_mark_fails_them(pack: Path) -> None:
    (pack / "fixtures" / "team102_default_initial_scale" / "clean_named.py").write_text(
        'import torch\n\nscaler = torch.amp.GradScaler("cuda")\n'
    )
    ran = own_tests(pack)
    assert ran.returncode == 1
    assert "team102_default_initial_scale/clean_named" in ran.stdout
    assert "findings_are_those_marked" in ran.stdout


def test_a_rule_that_declares_what_no_fixture_shows_is_told_so(pack: Path) -> None:
    module = pack.with_name("site") / "team_amp_rules" / "team101_region_without_dtype.py"
    text = module.read_text().replace("import UNSAFE", "import SAFE, UNSAFE")
    module.write_text(text.replace("fix=UNSAFE", "fix=SAFE"))
    ran = own_tests(pack)
    assert "TEAM101 declares `safe` fixes, and the best that its fixtures show is `unsafe`" in ran.stdout


def test_what_fixes_make_is_written_again(pack: Path) -> None:
    written = pack / "fixtures" / "team101_region_without_dtype" / "flagged_option.fixed.py"
    text = written.read_text()
    written.unlink()
    assert own_tests(pack).returncode == 1
    ran = run(pack, sys.executable, "-m", "amplint.testing", "fixtures")
    assert (ran.returncode, ran.stdout) == (0, "7 fixtures looked at\n")
    assert written.read_text() == text


def test_a_folder_without_fixtures_is_an_error(pack: Path) -> None:
    ran = run(pack, sys.executable, "-m", "amplint.testing", "tests")
    assert ran.returncode == 2 and "holds no fixtures" in ran.stderr


def test_the_program_knows_its_rules(pack: Path) -> None:
    flagged = "fixtures/team101_region_without_dtype/flagged_region.py"
    checked = run(pack, *AMPLINT, "--isolated", "--no-cache", "--select", "TEAM", flagged)
    assert checked.stdout == f"{flagged}:5:27: TEAM101 This autocast region names no dtype [unsafe]\n"
    assert "TEAM102" in run(pack, *AMPLINT, "rules").stdout
    assert "There is no fix: only a run can tell the scale." in run(pack, *AMPLINT, "explain", "TEAM102").stdout


def test_the_page_quotes_the_example() -> None:
    page = (ROOT / "docs" / "rule-packs.md").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in sorted(EXAMPLE.rglob("*.py")))
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert all(line in code for line in block.splitlines() if line.strip())


def test_what_the_page_calls_stable_is_there() -> None:
    page = (ROOT / "docs" / "rule-packs.md").read_text("utf-8")
    modules = re.findall(r"`(amplint\.\w+)`", page.partition("## What a pack may rely on")[2].partition("## Tests")[0])
    assert len(modules) == 6
    assert all(find_spec(module) for module in modules)
