"""The floors of the house: what may import what."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from checkout import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
WHOLE = {"campaign", "fuzz", "kill", "mutants", "notebooks", "rules", "support", "wrappers"}
"""The folders of tests that are about all of amplint together, or hold what tests work with."""
CONTRACTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def test_import_contracts_hold() -> None:
    run = subprocess.run([sys.executable, "-c", CONTRACTS], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_module_has_its_floor() -> None:
    floors = TOOLS["importlinter"]["contracts"][0]["layers"]
    modules = {
        f"amplint.{path.stem}"
        for path in (ROOT / "amplint").glob("*")
        if (path / "__init__.py").exists() or path.suffix == ".py"
    }
    assert set(re.findall(r"[\w.]+", " ".join(floors))) == modules - {"amplint.__init__"} | {"amplint_rules"}


def test_every_package_is_installed() -> None:
    settings = TOOLS["setuptools"]
    folders: dict[str, Path] = {name: ROOT / folder for name, folder in settings["package-dir"].items()}
    there = {
        ".".join((package, *path.parent.relative_to(folder).parts))
        for package, folder in folders.items()
        for path in folder.rglob("*.py")
    }
    assert set(settings["packages"]) == there


def test_tests_stand_in_the_same_folders_as_what_they_test() -> None:
    tests = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    mirrored = {folder for folder in tests if folder.parts and folder.parts[0] not in WHOLE}
    assert not {str(folder) for folder in mirrored if not (ROOT / "amplint" / folder / "__init__.py").exists()}
    packages = {path.parent.relative_to(ROOT / "amplint").parts[:1] for path in ROOT.glob("amplint/*/__init__.py")}
    assert packages == {folder.parts[:1] for folder in mirrored}, "a folder without a test of its own"
