"""A copy of the checkout, for tests that write into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copy_checkout(target: Path) -> Path:
    """Engine, rules, scripts, tests and documents, without fixtures; `site` in it is where Python finds the packages.

    What Python has compiled comes along: it knows of each file how large and how old it is.
    """
    for name in ("amplint", "rules", "scripts", "tests", "docs"):
        shutil.copytree(ROOT / name, target / name)
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, target)
    (target / "fixtures").mkdir()
    (target / "site").mkdir()
    for package, folder in (("amplint", "amplint"), ("amplint_rules", "rules")):
        (target / "site" / package).symlink_to(Path("..") / folder, target_is_directory=True)
    return target


def run_python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copied checkout, on the code of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=checkout, env=environment, capture_output=True, text=True)
