"""The command line: what is checked, and with which settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from demo_run import CLEAN, DISPLAY, SAFE, UNSAFE, amplint, codes, write

pytestmark = pytest.mark.usefixtures("demo_rules")


# -- what is checked ---------------------------------------------------------------------------------------------------


def test_findings_are_lines_as_flake8_prints_them() -> None:
    write(pkg__b=SAFE + UNSAFE + DISPLAY, pkg__a=SAFE, c=CLEAN)
    result = amplint("check", ".")
    assert result.stdout == (
        "pkg/a.py:1:1: DEM101 `demo_safe` is called [*]\n"
        "pkg/b.py:1:1: DEM101 `demo_safe` is called [*]\n"
        "pkg/b.py:2:1: DEM102 `demo_unsafe` is called [unsafe]\n"
        "pkg/b.py:3:1: DEM103 `demo_display` is called\n"
    )
    assert result.stderr == (
        "Found 4 findings in 2 of 3 files; 2 fixable with `--fix`, 1 more with `--unsafe-fixes`\n"
        "`amplint explain DEM101` says why it matters and what to write instead\n"
    )
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


# -- selection and settings --------------------------------------------------------------------------------------------


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
        (["--no-such-option"], "there is no option `--no-such-option`; see `"),
        (["--selct", "AMP1"], "there is no option `--selct`; did you mean `--select`?\n"),
        (["--extend-exclude", "a"], "there is no option `--extend-exclude`; did you mean `--exclude`?\n"),
        (
            ["--force-exclude"],
            "there is no option `--force-exclude`: what `--exclude` and the settings exclude is left out also where",
        ),
        (["--preview"], "there is no option `--preview`: no rule is in preview; `--extend-select` switches on"),
        (["--silent"], "there is no option `--silent`; did you mean `--quiet`?\n"),
        (["-z"], "there is no option `-z`; see `"),
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
    assert result.stderr.startswith("error: amplint.toml:1: `select`: unknown rule `DEM9`")
    assert (result.stdout, result.exit_code) == ("", 2)
