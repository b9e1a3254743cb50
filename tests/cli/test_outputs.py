"""The command line: which reports are written and where, what counts for the exit code, and what is said at the end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from demo_run import SAFE, UNSAFE, amplint, write
from program import on_a_terminal

pytestmark = pytest.mark.usefixtures("demo_rules")

AMP = """\
import torch

scaler = torch.cuda.amp.GradScaler()


def train(model, loader, optimizer, loss):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""


# -- several at once ---------------------------------------------------------------------------------------------------


def test_several_reports_of_one_run() -> None:
    write(a=SAFE)
    result = amplint("--output-format", "grouped", "--output-format", "json=a.json", "--output-format", "sarif=a.sarif")
    assert result.stdout.startswith("a.py:\n  1:1  error    DEM101 ") and result.exit_code == 1
    assert [one["code"] for one in json.loads(Path("a.json").read_text())] == ["DEM101"]
    assert json.loads(Path("a.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "DEM101"
    result = amplint("--output-format", "json=a.json", "--output-format", "pylint=a.txt", "--ignore", "DEM")
    assert (result.stdout, Path("a.json").read_text(), Path("a.txt").read_text()) == ("", "[]\n", "")


def test_output_file_is_for_the_report_without_a_file() -> None:
    write(a=SAFE)
    result = amplint("-o", "a.txt", "--output-format", "pylint", "--output-format", "json=-")
    assert result.exit_code == 2, "two reports would go to one place"
    result = amplint("-o", "a.txt", "--output-format", "pylint", "--output-format", "json=a.json")
    assert (result.stdout, Path("a.txt").read_text()[:21]) == ("", "a.py:1: [DEM101(demo-")
    assert amplint("--output-format", "json=-").stdout == Path("a.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--output-format", "sarf"), "`sarf` is none of concise, full, "),
        (("--output-format", "sarf"), "; did you mean `sarif`?"),
        (("--output-format", "json-lines"), "; did you mean `jsonl`?"),
        (("--output-format", "json="), "`json=` names no file"),
        (("--output-format", "full", "--output-format", "json"), "`full` and `json` cannot go to one place"),
        (("-o", "x", "--output-format", "json=y"), "`--output-file` has nothing to hold"),
        (("--output-format", "json=a.py"), "would overwrite `a.py`, which is checked"),
        (
            ("--output-format", "json=x", "--output-format", "sarif=./x"),
            "would overwrite what `--output-format` writes",
        ),
        (("--output-format", "json=x", "--output-format", "full", "-o", "x"), "would overwrite what `--output-format`"),
        (("--statistics", "--output-format", "junit"), "`--statistics` has no form for `junit`"),
        (("--fail-on", "error", "--exit-zero"), "`--fail-on` with `--exit-zero`: nothing fails"),
        (("--diff", "-o", "x"), "`--diff` shows a diff and writes no report"),
        (("--diff", "--output-format", "sarif=x"), "`--diff` shows a diff and writes no report"),
        (("--fail-on", "fatal"), "'fatal' is not one of"),
    ],
)
def test_what_cannot_be_together_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    write(a=SAFE)
    result = amplint(*arguments, "a.py")
    assert (result.stdout, result.exit_code, Path("x").exists()) == ("", 2, False)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert Path("a.py").read_text() == SAFE


# -- for people --------------------------------------------------------------------------------------------------------


def test_full_on_a_terminal_and_concise_elsewhere() -> None:
    write(a=AMP)
    assert "AMP101 error: Gradients are clipped" in (shown := on_a_terminal("a.py")) and "\n  --> a.py:8:5\n" in shown
    line = "a.py:8:5: AMP101 Gradients are clipped"
    assert line in on_a_terminal("a.py", TERM="dumb"), "editors parse what a dumb terminal shows"
    assert line in on_a_terminal("a.py", PRE_COMMIT="1")
    assert line in on_a_terminal("a.py", "--output-format", "concise")
    assert line in amplint("a.py", "--select", "AMP").stdout
    assert line not in on_a_terminal("a.py", "-o", "report.txt") and line in Path("report.txt").read_text()


def test_what_to_do_next_is_said_once_and_not_to_programs() -> None:
    write(a=SAFE + UNSAFE + UNSAFE, b=UNSAFE)
    hint = "`amplint explain DEM102` says why it matters and what to write instead\n"
    for name in ("concise", "full", "grouped"):
        result = amplint("--output-format", name)
        assert (result.output.count("amplint explain"), result.stderr.endswith(hint)) == (1, True)
    for name in ("json", "jsonl", "sarif", "github", "gitlab", "azure", "junit", "pylint", "rdjson", "full=x.txt"):
        assert "amplint explain" not in amplint("--output-format", name).output
    assert "amplint explain" not in amplint("--quiet").output
    assert "amplint explain" not in amplint("--ignore", "DEM").output


def test_statistics_explain_their_marks() -> None:
    write(a=SAFE + UNSAFE)
    assert "[*] `--fix` repairs all of them, [-] some\n" in amplint("--statistics").stderr
    assert "[*] `--fix --unsafe-fixes` repairs" in amplint("--statistics", "--unsafe-fixes").stderr
    assert "[*]" not in amplint("--statistics", "--output-format", "json").output
    assert "[*]" not in amplint("--statistics", "--select", "DEM102").output


def test_help_groups_the_options() -> None:
    for command in ("check", "verify"):
        shown = amplint(command, "-h").stdout
        headings = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
        assert {"Replaying fixes", "What to look at, and for what", "Report and exit code", "The run"} < {*headings}
        assert headings[-1] == "Other options" and len(headings) == len({*headings})
        options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE)
        assert len(options) == len({*options}) > 15


# -- severity ----------------------------------------------------------------------------------------------------------


def found(*arguments: str) -> tuple[list[str], int]:
    """The codes and severities that are reported, and the exit code."""
    result = amplint("a.py", "--select", "AMP101,AMP107,AMP209", "--output-format", "jsonl", *arguments)
    return [f"{one['code']} {one['severity']}" for one in map(json.loads, result.stdout.splitlines())], result.exit_code


def test_severity_gates() -> None:
    write(a=AMP)
    both = ["AMP209 info", "AMP101 error"]
    assert found() == (both, 1)
    assert found("--fail-on", "error") == (both, 1)
    assert found("--min-severity", "warning") == (both[1:], 1)
    assert found("--ignore", "AMP101") == (both[:1], 1)
    assert found("--ignore", "AMP101", "--fail-on", "warning") == (both[:1], 0)
    assert found("--ignore", "AMP101", "--min-severity", "warning") == ([], 0)
    result = amplint("a.py", "--select", "AMP209", "--fail-on", "error")
    assert "None of them counts for the exit code, which `--fail-on error` sets\n" in result.stderr


def test_what_is_left_out_is_not_fixed_either() -> None:
    write(a=AMP)
    amplint("a.py", "--fix", "--min-severity", "error", "--select", "AMP101,AMP209")
    text = Path("a.py").read_text()
    assert "torch.cuda.amp.GradScaler()" in text and "scaler.unscale_(optimizer)" in text


def test_a_syntax_error_is_an_error_of_every_severity() -> None:
    write(a="def (:\n")
    assert amplint("a.py", "--min-severity", "error", "--fail-on", "error").exit_code == 1
