"""What a run without PyTorch skips for want of it is what a run with it takes (`--note-skipped`, `--only-noted`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from checkout import ROOT, run_python
from skipped_tests import TRACE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RUN = """
import pathlib, sys, pytest
sys.path.insert(0, sys.argv[1])
from skipped_tests import SkippedTests
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"], plugins=[SkippedTests(pathlib.Path("skipped"))]))
"""

FILES = {
    "test_one_of_two.py": "def test_runs(): pass\n\n@pytest.mark.parametrize('a', ['x y', 'z'])\n"
    "def test_waits(a): pytest.skip(\"could not import 'torch'\" if a == 'x y' else 'needs a torchlight')\n",
    "test_whole.py": "pytest.skip('pages need bokeh', allow_module_level=True)\n",
    "test_of_another_system.py": "def test_of_root(): pytest.skip('root may do everything')\n",
    "test_expected_to_fail.py": "@pytest.mark.xfail(reason='torch')\ndef test_fails(): assert False\n",
}


def test_what_is_skipped_for_want_of_pytorch_is_noted(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(f"import pytest\n\n{text}", encoding="utf-8")
    run = run_python(tmp_path, "-c", RUN, str(ROOT / "tests" / "support"))
    assert run.returncode == 0, run.stdout
    noted = (tmp_path / "skipped").read_text(encoding="utf-8").splitlines()
    assert noted == ["test_one_of_two.py::test_waits[x y]", "test_whole.py"]


def test_only_what_is_noted_is_collected(tmp_path: Path) -> None:
    one = "tests/test_skipped_tests.py::test_only_what_is_noted_is_collected"
    every = "tests/model/test_literals.py"
    (tmp_path / "noted").write_text(f"{one}\n{every}\n", encoding="utf-8")
    options = ("-q", "-p", "no:cacheprovider", "--collect-only", f"--only-noted={tmp_path / 'noted'}")
    run = run_python(ROOT, "-m", "pytest", *options)
    collected = {line for line in run.stdout.splitlines() if "::" in line}
    assert run.returncode == 0 and one in collected
    assert {name.partition("::")[0] for name in collected - {one}} == {every}


def test_each_skip_for_want_of_pytorch_says_so() -> None:
    """Its reason names the module, as pytest's own does: without that it would not be noted, and run nowhere."""
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in (ROOT / "tests").rglob("*.py")}
    asking = {path: text for path, text in texts.items() if "importorskip(" in text}
    assert len(asking) > 40
    for path, text in asking.items():
        for module, reason in _imports_or_skips(ast.parse(text)):
            assert module not in TRACE or reason is None or module in reason, (path, reason)


def test_the_modules_are_those_of_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert tuple(one.partition(">=")[0] for one in extras["trace"]) == TRACE


def _imports_or_skips(tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """The module that each `pytest.importorskip` asks for, without what is below it, and the reason that is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("importorskip"):
            reasons = [str(ast.literal_eval(one.value)) for one in node.keywords if one.arg == "reason"]
            yield ast.unparse(node.args[0]).strip("'\"").partition(".")[0], next(iter(reasons), None)
