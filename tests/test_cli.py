"""The command line, end to end: what goes to stdout, what to stderr, what is written, how the program exits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import demo_pack
import pytest
from click.testing import CliRunner, Result
from program import hear_interrupts

from amplint import __version__, checker, registry
from amplint.cli.main import main

SAFE, UNSAFE, DISPLAY = "demo_safe()\n", "demo_unsafe()\n", "demo_display()\n"
CLEAN = "x = 1\n"


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo rules are installed."""
    return demo_pack.install(tmp_path_factory.mktemp("site"))


def forget_rules() -> None:
    for cache in (
        registry.pack_names,
        registry.load_rules,
        registry.rule_index,
        checker._triggers,
        checker._suppression,
    ):
        cache.cache_clear()


@pytest.fixture(autouse=True)
def _demo_rules(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(pack)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    forget_rules()
    yield
    forget_rules()


def write(**files: str) -> None:
    """Write files; `a__b` stands for `a/b.py`."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def amplint(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the program in this process."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def process(pack: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "amplint", *arguments],
        env={**os.environ, "PYTHONPATH": str(pack)},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )


# -- what is checked --------------------------------------------------------------------------------------------------


def test_findings_are_lines_as_flake8_prints_them() -> None:
    write(pkg__b=SAFE + UNSAFE + DISPLAY, pkg__a=SAFE, c=CLEAN)
    result = amplint("check", ".")
    assert result.stdout == (
        "pkg/a.py:1:1: DEM101 `demo_safe` is called [*]\n"
        "pkg/b.py:1:1: DEM101 `demo_safe` is called [*]\n"
        "pkg/b.py:2:1: DEM102 `demo_unsafe` is called [unsafe]\n"
        "pkg/b.py:3:1: DEM103 `demo_display` is called\n"
    )
    assert result.stderr == "Found 4 findings in 2 of 3 files; 2 fixable with `--fix`, 1 more with `--unsafe-fixes`\n"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "arguments", [(), (".",), ("check",), ("check", "."), ("--output-format", "concise"), ("--", "pkg")]
)
def test_check_is_what_is_done_and_here_is_where(arguments: tuple[str, ...]) -> None:
    write(pkg__a=SAFE)
    result = amplint(*arguments)
    assert result.stdout == "pkg/a.py:1:1: DEM101 `demo_safe` is called [*]\n"


def test_nothing_found() -> None:
    write(a=CLEAN)
    result = amplint("a.py")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "No findings in 1 file\n", 0)


def test_nothing_to_look_at() -> None:
    result = amplint(".")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == "warning: no Python files found under the given paths\n"


def test_what_is_not_there_is_said_and_the_rest_is_checked() -> None:
    write(a=SAFE)
    result = amplint("nowhere.py", "a.py", "nowhere.py")
    assert result.stdout == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
    assert result.stderr.splitlines()[0] == "error: nowhere.py: does not exist"
    assert result.stderr.count("nowhere") == 1
    assert result.exit_code == 2


def test_a_syntax_error_is_a_finding() -> None:
    write(a="def (:\n", b=SAFE)
    result = amplint("a.py", "b.py", "--select", "DEM101")
    assert result.stdout.startswith("a.py:1:5: AMP900 Syntax error: ")
    assert (result.stdout.count("\n"), result.exit_code) == (2, 1)


def test_an_undecodable_file_was_not_checked() -> None:
    Path("a.py").write_bytes(b"x = '\xff'\ndemo_safe()\n")
    result = amplint("a.py", "--exit-zero")
    assert result.stdout == ""
    assert result.stderr.startswith("error: a.py: cannot be decoded")
    assert result.exit_code == 2, "what was not checked is not clean, whatever else is asked for"


def test_named_files_that_are_excluded_are_mentioned() -> None:
    write(gen__a=SAFE, b=CLEAN)
    result = amplint("gen/a.py", "b.py", "--exclude", "gen")
    assert result.stderr == "Excluded by the settings: gen/a.py\nNo findings in 1 file\n"
    assert (result.stdout, result.exit_code) == ("", 0)
    assert amplint("gen/a.py", "--exclude", "gen").exit_code == 0


# -- selection and settings -------------------------------------------------------------------------------------------


def codes(result: Result) -> list[str]:
    return [line.split()[1] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["DEM101", "DEM102", "DEM103"]),
        (["--select", "DEM"], ["DEM101", "DEM102", "DEM103", "DEM201"]),
        (["--select", "DEM101,demo-optional"], ["DEM101", "DEM201"]),
        (["--select", "DEM101", "--select", "DEM102"], ["DEM101", "DEM102"]),
        (["--ignore", "DEM1"], []),
        (["--ignore", "DEM10", "--extend-select", "DEM201,DEM102"], ["DEM102", "DEM201"]),
        (["--per-file-ignores", "a.py:DEM101,demo-unsafe"], ["DEM103"]),
        (["--per-file-ignores", "b.py:DEM101,*.py:DEM103"], ["DEM101", "DEM102"]),
        (["--per-file-ignores", "b.py:DEM101"], ["DEM101", "DEM102", "DEM103"]),
    ],
)
def test_selecting(arguments: list[str], expected: list[str]) -> None:
    write(a=SAFE + UNSAFE + DISPLAY + "demo_optional()\n")
    assert codes(amplint("a.py", *arguments)) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "DEM101,demo-sofe"], "--select: unknown rule `demo-sofe`; did you mean `demo-safe`?"),
        (["--ignore", "X1"], "--ignore: unknown rule `X1`"),
        (["--extend-select", "X1"], "--extend-select: unknown rule `X1`"),
        (["--per-file-ignores", "a.py:X1"], "--per-file-ignores: unknown rule `X1`"),
        (["--config", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
        (["--torch-version", "new"], 'Invalid value for \'--torch-version\': "new" is not a version such as "2.4"'),
        (["--per-file-ignores", "a.py"], "Invalid value for '--per-file-ignores': `a.py` is not of the form"),
        (["--output-format", "xml"], "Invalid value for '--output-format'"),
        (["--no-such-option"], "No such option"),
        (["--jobs", "-1"], "Invalid value for '-j' / '--jobs'"),
        (["-", "a.py"], "`-` cannot be combined with other paths"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_nothing_is_checked(arguments: list[str], message: str) -> None:
    write(a=SAFE)
    result = amplint(*arguments, *([] if "-" in arguments else ["a.py"]))
    assert result.stderr.startswith(f"error: {message}")
    assert (result.stdout, result.exit_code, result.stderr.count("\n")) == ("", 2, 1)


def test_settings_come_from_the_nearest_file() -> None:
    write(a=SAFE + UNSAFE, sub__b=SAFE + UNSAFE)
    Path("pyproject.toml").write_text("[tool.amplint]\nignore = ['DEM101']\n")
    Path("sub/amplint.toml").write_text("ignore = ['DEM102']\n")
    assert codes(amplint()) == ["DEM102", "DEM101"]
    assert codes(amplint("--isolated")) == ["DEM101", "DEM102"] * 2
    assert codes(amplint("--config", "sub/amplint.toml")) == ["DEM101"] * 2


def test_a_broken_configuration_is_named_once_and_the_rest_is_checked() -> None:
    write(a=SAFE, sub__b=SAFE, sub__c=SAFE)
    Path("sub/pyproject.toml").write_text("[tool.amplint\n")
    result = amplint("a.py", "sub/b.py", "sub/c.py")
    assert codes(result) == ["DEM101"]
    assert result.stderr.startswith("error: sub/pyproject.toml: is not valid TOML: ")
    assert (result.stderr.count("error"), result.exit_code) == (1, 2)


def test_an_unknown_rule_in_a_configuration_file() -> None:
    write(a=SAFE)
    Path("amplint.toml").write_text("select = ['DEM9']\n")
    result = amplint()
    assert result.stderr.startswith("error: amplint.toml: `select`: unknown rule `DEM9`")
    assert (result.stdout, result.exit_code) == ("", 2)


# -- fixing -----------------------------------------------------------------------------------------------------------


def test_fix_applies_what_is_safe() -> None:
    write(a=SAFE + UNSAFE, b=CLEAN)
    result = amplint("--fix")
    assert Path("a.py").read_text() == "good()\n" + UNSAFE
    assert result.stdout == "a.py:2:1: DEM102 `demo_unsafe` is called [unsafe]\n"
    assert result.stderr == (
        "Fixed 1 finding in 1 file\n1 finding remains in 1 of 2 files; 1 fixable with `--unsafe-fixes`\n"
    )
    assert result.exit_code == 1


def test_fix_applies_what_is_unsafe_when_asked_to() -> None:
    write(a=SAFE + UNSAFE)
    result = amplint("--fix", "--unsafe-fixes", "--show-fixes")
    assert Path("a.py").read_text() == "good()\ngood()\n"
    assert result.stderr == (
        "a.py:\n    1 x DEM101 (demo-safe)\n    1 x DEM102 (demo-unsafe)\n"
        "Fixed 2 findings in 1 file\nNo findings remain in 1 file\n"
    )
    assert (result.stdout, result.exit_code) == ("", 0)
    assert amplint("--fix", "--unsafe-fixes").stderr == "No findings in 1 file\n"


def test_unsafe_fixes_without_fix_are_shown_as_applicable() -> None:
    write(a=UNSAFE)
    result = amplint("--unsafe-fixes")
    assert result.stdout == "a.py:1:1: DEM102 `demo_unsafe` is called [*]\n"
    assert result.stderr == "Found 1 finding in 1 of 1 file; 1 fixable with `--fix`\n"
    assert Path("a.py").read_text() == UNSAFE


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        (SAFE, ["--fix"], 0),
        (SAFE, ["--fix", "--exit-non-zero-on-fix"], 1),
        (CLEAN, ["--fix", "--exit-non-zero-on-fix"], 0),
        (SAFE + UNSAFE, ["--fix", "--exit-zero"], 0),
        (SAFE, ["--exit-zero"], 0),
        (SAFE, ["--diff"], 1),
        (UNSAFE, ["--diff"], 0),
        (UNSAFE, ["--diff", "--unsafe-fixes"], 1),
        (CLEAN, ["--diff"], 0),
    ],
)
def test_exit_codes_of_fixing(text: str, arguments: list[str], code: int) -> None:
    write(a=text)
    assert amplint("a.py", *arguments).exit_code == code


def test_diff_shows_and_writes_nothing() -> None:
    write(a=CLEAN + SAFE)
    result = amplint("--diff")
    assert result.stdout == "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x = 1\n-demo_safe()\n+good()\n"
    assert result.stderr == "Would fix 1 finding in 1 file\n"
    assert Path("a.py").read_text() == CLEAN + SAFE


def test_a_fix_that_would_break_the_file_is_named_and_left_out() -> None:
    write(a="demo_broken()\n" + SAFE)
    result = amplint("--fix")
    assert Path("a.py").read_text() == "demo_broken()\ngood()\n"
    assert result.stderr.splitlines()[0] == "warning: a.py: a fix of DEM301 would break the file and was left out"
    assert (codes(result), result.exit_code) == (["DEM301"], 1)


def test_a_suppression_that_is_not_used_is_found_and_removed() -> None:
    write(a="x = 1  # noqa: DEM101, E501\n")
    assert codes(amplint()) == ["AMP901"]
    assert amplint("--fix").exit_code == 0
    assert Path("a.py").read_text() == "x = 1  # noqa: E501\n"


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    Path("a.py").write_bytes(b"\xef\xbb\xbfx = 1\r\ndemo_safe()\r\n")
    amplint("--fix")
    assert Path("a.py").read_bytes() == b"\xef\xbb\xbfx = 1\r\ngood()\r\n"


# -- stdin ------------------------------------------------------------------------------------------------------------


def test_stdin_is_checked() -> None:
    result = amplint("-", stdin=SAFE)
    assert (result.stdout, result.exit_code) == ("-:1:1: DEM101 `demo_safe` is called [*]\n", 1)
    assert amplint("-", "--stdin-filename", "pkg/a.py", stdin=SAFE).stdout.startswith("pkg/a.py:1:1: DEM101")
    assert amplint("-", stdin=CLEAN).exit_code == 0


def test_the_name_of_stdin_decides_on_its_settings() -> None:
    write(pkg__other=CLEAN)
    Path("pkg/amplint.toml").write_text("ignore = ['DEM101']\nexclude = ['gen.py']\n")
    assert amplint("-", "--stdin-filename", "pkg/a.py", stdin=SAFE).exit_code == 0
    excluded = amplint("-", "--fix", "--stdin-filename", "pkg/gen.py", stdin=UNSAFE)
    assert (excluded.stdout, excluded.exit_code) == (UNSAFE, 0)


def test_fixing_stdin_writes_the_text_to_stdout_and_the_findings_to_stderr() -> None:
    result = amplint("-", "--fix", stdin=b"\xef\xbb\xbf" + SAFE.replace("\n", "\r\n").encode() + UNSAFE.encode())
    assert result.stdout_bytes == b"\xef\xbb\xbfgood()\r\ndemo_unsafe()\n"
    assert result.stderr.startswith("-:2:1: DEM102")
    assert result.exit_code == 1
    assert amplint("-", "--fix", stdin=CLEAN).stdout == CLEAN
    assert amplint("-", "--fix", stdin=b"\xff\n").stdout_bytes == b"\xff\n"


def test_diff_of_stdin() -> None:
    assert "+good()\n" in amplint("-", "--diff", stdin=SAFE).stdout


# -- reporting --------------------------------------------------------------------------------------------------------


def test_json_is_an_array_whatever_was_found() -> None:
    write(a=SAFE)
    (found,) = json.loads(amplint("--output-format", "json").stdout)
    assert (found["code"], found["filename"]) == ("DEM101", str(Path("a.py").absolute()))
    assert found["fix"]["edits"] == [
        {"content": "good", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 10}}
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


# -- the other commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["DEM101", "dem101", "demo-safe"])
def test_explain(word: str) -> None:
    shown = amplint("explain", word).stdout
    assert shown.startswith("# DEM101 demo-safe\n\nsafe fix, on by default\n\nCalls of demo_safe.\n\n## What it does\n")


@pytest.mark.parametrize("code", ["AMP900", "AMP901", "AMP902"])
def test_explain_what_the_engine_reports(code: str) -> None:
    assert "## What it does\n" in amplint("explain", code).stdout


def test_explain_something_else() -> None:
    result = amplint("explain", "demo-sofe")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr == "error: unknown rule `demo-sofe`; did you mean `demo-safe`?\n"
    assert amplint("explain").exit_code == 2


def test_rules() -> None:
    lines = amplint("rules").stdout.splitlines()
    assert [line.split()[:4] for line in lines if line.startswith("DEM")] == [
        ["DEM101", "+", "safe", "demo-safe"],
        ["DEM102", "+", "unsafe", "demo-unsafe"],
        ["DEM103", "+", "display", "demo-display"],
        ["DEM201", "o", "safe", "demo-optional"],
        ["DEM301", "+", "safe", "demo-broken"],
    ]
    listed = {entry["code"]: entry for entry in json.loads(amplint("rules", "--output-format", "json").stdout)}
    assert listed["DEM201"] == {
        "code": "DEM201", "name": "demo-optional", "summary": "Calls of demo_optional", "fix": "safe", "default": False,
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


# -- the process ------------------------------------------------------------------------------------------------------


def test_a_clean_file_costs_no_import_of_libcst_or_torch() -> None:
    write(a="import math\n\n\ndef area(r: float) -> float:\n    return math.pi * r**2\n")
    code = """
import sys
from amplint.cli.main import main
try:
    main(["a.py"])
except SystemExit as exit:
    print(exit.code, *sorted({"libcst", "torch", "pathspec", "multiprocessing", "importlib.metadata"} & set(sys.modules)))
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
