"""The command line: reports, the other commands, and how the process behaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, codes, process, write
from program import hear_interrupts

from amplint import __version__

pytestmark = pytest.mark.usefixtures("demo_rules")


# -- reporting ---------------------------------------------------------------------------------------------------------


def test_json_is_an_array_whatever_was_found() -> None:
    write(a=SAFE)
    (found,) = json.loads(amplint("--output-format", "json").stdout)
    assert (found["code"], found["filename"]) == ("DEM101", str(Path("a.py").absolute()))
    assert found["fix"]["edits"] == [
        {"cell": None, "content": "good", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 10}}
    ]
    assert amplint("--output-format", "json", "--ignore", "DEM").stdout == "[]\n"


def test_full_shows_the_code_and_the_fix() -> None:
    write(a=SAFE)
    shown = amplint("--output-format", "full").stdout
    assert "  1 | demo_safe()\n    | ^^^^^^^^^\n    | - the file begins here\n" in shown
    assert "  note: it is safe\n  fix: Replace with `good`\n    - demo_safe()\n    + good()\n" in shown


def test_full_shows_the_text_that_remains_after_fixing() -> None:
    write(a="demo_safe(); demo_unsafe()\n")
    shown = amplint("--fix", "--output-format", "full").stdout
    assert "  1 | good(); demo_unsafe()\n" in shown and "    |         ^^^^^^^^^^^\n" in shown


def test_the_report_can_go_to_a_file() -> None:
    write(a=SAFE)
    result = amplint("--output-file", "report.txt", "--color", "auto")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert Path("report.txt").read_text() == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
    assert amplint("-o", "report.txt", "--ignore", "DEM").exit_code == 0
    assert Path("report.txt").read_text() == "", "an old report is not left behind"
    result = amplint("-o", "nowhere/report.txt")
    assert result.stderr.startswith("error: nowhere/report.txt: cannot be written: No such file or directory\n")
    assert result.exit_code == 2


def test_a_dash_in_place_of_a_file_is_standard_output() -> None:
    write(a=SAFE)
    assert amplint("-o", "-").stdout == amplint().stdout != ""
    assert not Path("-").exists()
    refused = amplint("verify", "--evidence", "-")
    assert refused.exit_code == 2
    assert "'--evidence': standard output is for the report; name a file" in refused.stderr


def test_statistics() -> None:
    write(a=SAFE + SAFE + UNSAFE)
    assert amplint("--statistics").stdout == "2  DEM101  [*] demo-safe\n1  DEM102      demo-unsafe\n"
    counts = json.loads(amplint("--statistics", "--output-format", "json").stdout)
    assert [entry["count"] for entry in counts] == [2, 1]


def test_quiet_and_verbose() -> None:
    write(a=SAFE)
    assert amplint("--quiet").stderr == ""
    assert codes(amplint("--quiet")) == ["DEM101"]
    assert amplint("-q", "nowhere.py").stderr == "error: nowhere.py: does not exist\n"
    assert "1 of 1 file checked in " in amplint("--verbose").stderr


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    write(a=SAFE)
    assert "\x1b[" not in amplint().output
    assert "\x1b[1;31mDEM101\x1b[0m" in amplint("--color", "always").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in amplint().stdout
    assert "\x1b[" not in amplint("--color", "never").output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in amplint().output


@pytest.mark.parametrize("text", ["def f(:\n", "x = 1  # noqa: DEM999\n", "x = 1  # amplint: ignore[\n"])
def test_what_the_engine_reports_without_a_fix_says_why(text: str) -> None:
    write(a=text)
    shown = amplint("a.py", "--output-format", "full").stdout
    assert shown.startswith("AMP90") and "\n  no fix: only you can say what is meant\n" in shown


# -- the other commands ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["DEM101", "dem101", "demo-safe"])
def test_explain(word: str) -> None:
    shown = amplint("explain", word).stdout
    marks = "dem, error, high confidence, safe fix, on by default, since 1.0"
    assert shown.startswith(f"# DEM101 demo-safe\n\n{marks}\n\nCalls of demo_safe.\n\n## What it does\n")


@pytest.mark.parametrize("code", ["AMP900", "AMP901", "AMP902"])
def test_explain_what_the_engine_reports(code: str) -> None:
    assert "## What it does\n" in amplint("explain", code).stdout


def test_explain_something_else() -> None:
    result = amplint("explain", "demo-sofe")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr == "error: unknown rule `demo-sofe`; did you mean `demo-safe`?\n"
    assert amplint("explain").exit_code == 2


def test_rules() -> None:
    lines, marks = amplint("rules").stdout.splitlines(), ["dem", "error", "high", "1.0"]
    assert [line.split()[:8] for line in lines if line.startswith("DEM")] == [
        ["DEM101", "+", "safe", "demo-safe", *marks],
        ["DEM102", "+", "unsafe", "demo-unsafe", *marks],
        ["DEM103", "+", "display", "demo-display", *marks],
        ["DEM201", "o", "safe", "demo-optional", *marks],
        ["DEM301", "+", "safe", "demo-broken", *marks],
    ]
    listed = {entry["code"]: entry for entry in json.loads(amplint("rules", "--output-format", "json").stdout)}
    assert listed["DEM201"] == {
        "code": "DEM201", "name": "demo-optional", "summary": "Calls of demo_optional", "fix": "safe", "default": False,
        "category": "dem", "severity": "error", "confidence": "high", "since": "1.0",
        "options": [],
    }  # fmt: skip
    assert {"AMP900", "AMP901", "AMP902"} <= set(listed)


def test_version_and_help() -> None:
    assert amplint("--version").stdout == f"amplint {__version__}\n"
    shown = amplint("-h").stdout
    assert all(f"  {command} " in shown for command in ("check", "explain", "rules"))
    assert "--unsafe-fixes" in amplint("check", "-h").stdout


def test_folders_may_be_called_like_commands() -> None:
    write(rules__a=SAFE)
    assert codes(amplint("rules/")) == codes(amplint("check", "rules")) == ["DEM101"]


# -- the process -------------------------------------------------------------------------------------------------------


def test_a_clean_file_costs_no_import_of_libcst_or_torch() -> None:
    write(a="import math\n\n\ndef area(r: float) -> float:\n    return math.pi * r**2\n")
    code = """
import sys
from amplint.cli.main import main
try:
    main(["a.py"])
except SystemExit as exit:
    print(exit.code, *sorted({"libcst", "torch", "platformdirs", "multiprocessing", "importlib.metadata"} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "0\n", run.stdout + run.stderr


def test_nobody_reads_to_the_end(pack: Path) -> None:
    write(a=SAFE * 20_000)
    with process(pack, "a.py") as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline() == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
        program.stdout.close()
        said = program.stderr.read()
    assert "Traceback" not in said and "BrokenPipe" not in said
    assert program.returncode == 1


_READY = "from amplint.cli import check; from amplint.cli.main import main; print('ready', flush=True); main(['-'])"


def test_ctrl_c() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _READY], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, preexec_fn=hear_interrupts
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        time.sleep(1)  # until it waits for its input
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate()
    assert (stdout, stderr.strip(), program.returncode) == ("", "interrupted", 130)


def test_the_installed_program() -> None:
    write(a=CLEAN)
    program = Path(sys.executable).with_name("amplint")
    if not program.exists():
        pytest.skip("the program is not installed beside this Python")
    run = subprocess.run([program, "a.py"], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "No findings in 1 file\n")
