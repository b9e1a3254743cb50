"""`amplint merge`: the parts of a run become the report that one run would have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, write

pytestmark = pytest.mark.usefixtures("demo_rules")


def parts(*arguments: str, of: int = 3) -> list[str]:
    """Files with the reports of the parts of a run; at least two of them hold something."""
    write(**{f"{folder}{number}": SAFE + UNSAFE for folder in ("", "sub__", "sub__sub__") for number in range(4)})
    write(sub=SAFE, clean=CLEAN)
    names = [f"part{number}.out" for number in range(1, of + 1)]
    for number, name in enumerate(names, 1):
        amplint("--shard", f"{number}/{of}", "-o", name, *arguments)
    return names


@pytest.mark.parametrize("form", ["gitlab", "json", "jsonl", "sarif"])
def test_the_parts_make_the_report_of_one_run(form: str) -> None:
    files = parts("--output-format", form)
    whole = amplint("--output-format", form).stdout
    done = amplint("merge", *reversed(files))
    assert (done.exit_code, done.stdout) == (0, whole)
    assert amplint("merge", *files, *files, "-o", "whole.out").exit_code == 0, "what comes twice is told once"
    assert Path("whole.out").read_text() == whole


def test_parts_of_a_baseline() -> None:
    for number, name in enumerate(parts(), 1):
        Path(name).unlink()
        assert amplint("--shard", f"{number}/3", "--baseline", name, "--update-baseline").exit_code == 0
    amplint("--baseline", "whole.json", "--update-baseline")
    assert amplint("merge", "part1.out", "part2.out", "part3.out").stdout == Path("whole.json").read_text()


def sarif(code: str, path: str, line: int) -> dict[str, Any]:
    """A log with one finding."""
    place = {"artifactLocation": {"uri": path}, "region": {"startLine": line, "startColumn": 1}}
    return {
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "amplint", "rules": [{"id": code}]}},
                "results": [
                    {
                        "ruleId": code,
                        "ruleIndex": 0,
                        "message": {"text": "x"},
                        "locations": [{"physicalLocation": place}],
                    }
                ],
            }
        ],
    }


def test_what_one_run_did_not_check_is_told_of_the_whole() -> None:
    Path("nul.py").write_bytes(b"GradScaler = 1\0")
    Path("clean.py").write_text("x = 1\n")
    for name in ("clean", "nul"):
        amplint("--isolated", "--no-cache", "--output-format", f"sarif={name}", f"{name}.py")
    (run,) = json.loads(amplint("merge", "clean", "nul", "clean", "nul").stdout)["runs"]
    (invocation,) = run["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "contains NUL bytes"


def test_logs_of_sarif_become_one_run_with_all_rules() -> None:
    for name, log in (
        ("a", sarif("AMP201", "b.py", 3)),
        ("b", sarif("AMP101", "a.py", 9)),
        ("c", sarif("AMP201", "b.py", 1)),
    ):
        Path(name).write_text(json.dumps(log))
    empty = sarif("AMP101", "a.py", 1)
    empty["runs"][0] |= {"results": [], "tool": {"driver": {"name": "amplint"}}}
    Path("d").write_text(json.dumps(empty))
    (run,) = json.loads(amplint("merge", "d", "a", "b", "c", "a").stdout)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["AMP101", "AMP201"]
    assert [(one["ruleId"], one["ruleIndex"]) for one in run["results"]] == [
        ("AMP101", 0),
        ("AMP201", 1),
        ("AMP201", 1),
    ]


def test_parts_without_findings() -> None:
    for name, text in (("a", ""), ("b", ""), ("c", "[]"), ("d", "[]\n")):
        Path(name).write_text(text)
    assert amplint("merge", "a", "b").stdout == ""
    assert amplint("merge", "c", "d").stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "error: bad: is no report of amplint\n"),
        ("{}", "error: bad: is no report of amplint\n"),
        ("[1]", "error: bad: is no report of amplint\n"),
        ("[" * 100_000, "error: bad: is no report of amplint\n"),
        ('{"version": "2.1.0", "runs": [1]}', "error: bad: is no SARIF of amplint\n"),
        ('{"version": "2.1.0", "runs": 3}', "error: bad: is no SARIF of amplint\n"),
        ('{"amplint-baseline": 1, "findings": 3}', "error: bad: holds what is no finding of a baseline\n"),
        ('{"amplint-baseline": 1, "findings": {}}', "error: good is a JSON array, and bad is a baseline\n"),
        (None, "error: bad: cannot be read: No such file or directory\n"),
    ],
)
def test_what_is_no_report_is_one_line(text: str | None, said: str) -> None:
    Path("good").write_text("[]")
    if text is not None:
        Path("bad").write_text(text)
    Path("whole.out").write_text("as it was")
    done = amplint("merge", "good", "bad", "-o", "whole.out")
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)
    assert Path("whole.out").read_text() == "as it was"
