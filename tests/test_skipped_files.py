"""What a run without PyTorch skips is what a run with it takes (`--note-skipped`, `--only-noted`)."""

from __future__ import annotations

from pathlib import Path

from checkout import ROOT, run_python

RUN = """
import pathlib, sys, pytest
sys.path.insert(0, sys.argv[1])
from skipped_files import SkippedFiles
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"], plugins=[SkippedFiles(pathlib.Path("skipped"))]))
"""


def test_files_are_noted_of_which_anything_was_skipped(tmp_path: Path) -> None:
    skipping = "import pytest\n\ndef test_runs(): pass\n\ndef test_waits(): pytest.importorskip('no_such_module')\n"
    failing = "import pytest\n\n@pytest.mark.xfail\ndef test_fails(): assert False\n"
    (tmp_path / "test_one_of_two.py").write_text(skipping, encoding="utf-8")
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.importorskip('no_such_module')\n", encoding="utf-8")
    (tmp_path / "test_expected_to_fail.py").write_text(failing, encoding="utf-8")
    run = run_python(tmp_path, "-c", RUN, str(ROOT / "tests" / "support"))
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "skipped").read_text(encoding="utf-8").split() == ["test_one_of_two.py", "test_whole.py"]


def test_only_files_that_are_noted_are_collected(tmp_path: Path) -> None:
    (tmp_path / "noted").write_text("tests/test_skipped_files.py\n", encoding="utf-8")
    options = ("-q", "-p", "no:cacheprovider", "--collect-only", f"--only-noted={tmp_path / 'noted'}")
    run = run_python(ROOT, "-m", "pytest", *options)
    collected = {line.partition("::")[0] for line in run.stdout.splitlines() if "::" in line}
    assert (run.returncode, collected) == (0, {"tests/test_skipped_files.py"})
