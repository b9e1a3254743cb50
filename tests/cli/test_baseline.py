"""`--baseline` and `--update-baseline`: what a team knows is neither reported nor fixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, codes, write
from notebook_harness import cell, notebook

pytestmark = pytest.mark.usefixtures("demo_rules")

BASELINE = ("--baseline", "known.json")
UPDATE = (*BASELINE, "--update-baseline")


def known() -> dict[str, list[dict[str, Any]]]:
    """What the baseline holds, by file."""
    found: dict[str, list[dict[str, Any]]] = json.loads(Path("known.json").read_text())["findings"]
    return found


def test_known_findings_are_not_reported_and_new_ones_are() -> None:
    write(a=SAFE, b=UNSAFE)
    first = amplint(*UPDATE)
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == "known.json: 2 findings (2 added, 0 dropped)\n"
    again = amplint(*BASELINE)
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr == "Not shown: 2 known findings of known.json\nNo new findings in 2 files\n"
    write(b=UNSAFE + "x = 1\n" + SAFE)
    more = amplint(*BASELINE)
    assert (more.exit_code, more.stdout) == (1, "b.py:3:1: DEM101 `demo_safe` is called [*]\n")
    assert "Found 1 new finding in 1 of 2 files" in more.stderr


@pytest.mark.parametrize(
    "text",
    [
        "import os\n\n\n" + CLEAN + SAFE,
        "if True:\n    " + SAFE,
        CLEAN + "\n\n" + SAFE + CLEAN,
        "\ufeff" + SAFE.replace("\n", "\r\n"),
        "demo_safe  ()\n".replace("  (", "("),
    ],
)
def test_code_that_moves_stays_known(text: str) -> None:
    write(a=SAFE)
    amplint(*UPDATE)
    write(a=text)
    assert amplint(*BASELINE).exit_code == 0


def test_as_many_as_are_known_and_of_equal_lines_the_one_between_the_same_lines() -> None:
    write(a="x = 1\n" + SAFE + "y = 2\n")
    amplint(*UPDATE)
    write(a=SAFE + "z = 3\n" + "x = 1\n" + SAFE + "y = 2\n")
    assert amplint(*BASELINE).stdout == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"


def test_findings_that_nothing_tells_apart_are_counted() -> None:
    write(a="x = 1\n" + 2 * (SAFE + "x = 1\n"), b=SAFE)
    amplint(*UPDATE)
    assert [entry.get("count") for entries in known().values() for entry in entries] == [2, None]
    write(a="x = 1\n" + 3 * (SAFE + "x = 1\n"))
    assert len(codes(amplint(*BASELINE))) == 1


def test_a_line_that_is_written_anew_is_new() -> None:
    write(a=SAFE)
    amplint(*UPDATE)
    write(a="demo_safe(); x = 1\n")
    assert amplint(*BASELINE).exit_code == 1


def test_what_is_fixed_is_told_and_dropped_by_the_next_update() -> None:
    write(a=SAFE + UNSAFE, b=SAFE)
    amplint(*UPDATE)
    write(a=UNSAFE)
    Path("b.py").unlink()
    told = amplint(*BASELINE)
    assert told.exit_code == 0
    assert "2 findings of known.json are fixed: update it with `--update-baseline`\n" in told.stderr
    assert amplint(*UPDATE).stderr == "known.json: 1 finding (0 added, 2 dropped)\n"
    assert [(path, [entry["line"] for entry in entries]) for path, entries in known().items()] == [
        ("a.py", ["demo_unsafe()"])
    ]


def test_nothing_is_called_fixed_that_this_run_would_not_report() -> None:
    write(a=SAFE + UNSAFE, b=SAFE)
    amplint(*UPDATE)
    before = Path("known.json").read_bytes()
    for arguments in (("a.py",), ("--select", "DEM101"), ("b.py", "--ignore", "DEM101")):
        assert "fixed" not in amplint(*BASELINE, *arguments).stderr
        amplint(*UPDATE, *arguments)
        assert Path("known.json").read_bytes() == before, arguments


def test_a_file_that_is_renamed_takes_its_findings_along() -> None:
    write(a=SAFE)
    amplint(*UPDATE)
    Path("a.py").rename("b.py")
    done = amplint(*BASELINE)
    assert (done.exit_code, "fixed" in done.stderr) == (0, False)
    amplint(*UPDATE)
    assert list(known()) == ["b.py"]


def test_fix_leaves_alone_what_is_known() -> None:
    write(a=SAFE)
    amplint(*UPDATE)
    write(a=SAFE + "x = 1\n" + SAFE, b=SAFE)
    done = amplint("--fix", *BASELINE)
    assert done.exit_code == 0
    assert (Path("a.py").read_text(), Path("b.py").read_text()) == (SAFE + "x = 1\ngood()\n", "good()\n")
    assert amplint("--diff", *BASELINE).exit_code == 0


def test_an_update_with_fix_records_what_is_left() -> None:
    write(a=SAFE + UNSAFE)
    amplint(*UPDATE)
    assert amplint("--fix", *UPDATE).exit_code == 0
    assert Path("a.py").read_text() == "good()\n" + UNSAFE
    assert [entry["code"] for entry in known()["a.py"]] == ["DEM102"]


def test_the_file_is_sorted_and_has_a_finding_in_each_line() -> None:
    write(b=UNSAFE + SAFE, a=SAFE + SAFE + SAFE)
    amplint(*UPDATE)
    text = Path("known.json").read_text()
    assert list(known()) == ["a.py", "b.py"]
    assert text.count('"code"') == len([line for line in text.splitlines() if '"code"' in line]) == 5
    write(a=CLEAN + "y = 2\n" + SAFE + SAFE + SAFE)
    amplint(*UPDATE)
    changed = set(text.splitlines()) ^ set(Path("known.json").read_text().splitlines())
    assert len(changed) == 2, "only what stands around the first of them has changed"


def test_paths_are_seen_from_the_folder_of_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    write(src__a=SAFE)
    amplint("src", *UPDATE)
    assert list(known()) == ["src/a.py"]
    monkeypatch.chdir("src")
    assert amplint("--baseline", "../known.json").exit_code == 0


def test_the_settings_may_name_it() -> None:
    write(sub__a=SAFE, b=SAFE)
    Path("sub/amplint.toml").write_text('baseline = "known.json"\n')
    assert amplint().exit_code == 2
    assert amplint("--update-baseline", "sub").exit_code == 0
    assert amplint().stdout == "b.py:1:1: DEM101 `demo_safe` is called [*]\n"
    assert codes(amplint("--isolated")) == ["DEM101", "DEM101"]
    Path("sub/amplint.toml").write_text('baseline = "../known.json"\n')
    assert amplint("sub").stderr.startswith("error: sub/amplint.toml:1: `baseline`: ")


def test_notebooks_and_standard_input() -> None:
    Path("n.ipynb").write_text(notebook(cell("x = 1\n"), cell(SAFE)))
    amplint(*UPDATE)
    Path("n.ipynb").write_text(notebook(cell("# more\n"), cell("x = 1\n"), cell(SAFE)))
    assert amplint(*BASELINE).exit_code == 0
    write(a=SAFE)
    amplint(*UPDATE)
    assert amplint("-", "--stdin-filename", "a.py", *BASELINE, stdin=CLEAN + SAFE).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such baseline; `--update-baseline` writes one"),
        ("", "is no JSON"),
        ("[]", "is JSON, but no baseline of amplint"),
        (
            '{"amplint-baseline": 9}',
            "was written by another version of amplint: write it anew with `--update-baseline`",
        ),
        ('{"amplint-baseline": 1}', "holds what is no finding of a baseline"),
        ('{"amplint-baseline": 1, "findings": {"a.py": [1]}}', "holds what is no finding of a baseline"),
        (
            '{"amplint-baseline": 1, "findings": {"a.py": [{"code": "DEM101"}]}}',
            "holds what is no finding of a baseline",
        ),
        ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n", "holds the marks of a merge conflict"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_what_is_no_baseline_is_one_line_and_no_report(text: str | None, said: str) -> None:
    write(a=SAFE)
    if text is not None:
        Path("known.json").write_text(text)
    done = amplint(*BASELINE)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"error: known.json: {said}\n")
    if text is not None:
        assert amplint(*UPDATE).exit_code == 2
        assert Path("known.json").read_text() == text, "what is no baseline is not overwritten"


def test_what_contradicts_itself_is_refused() -> None:
    write(a=SAFE)
    for arguments in (("--update-baseline",), (*UPDATE, "--diff"), (*UPDATE, "-"), ("--baseline", "a.py")):
        done = amplint(*arguments, stdin="")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
    assert Path("a.py").read_text() == SAFE


def test_a_file_that_could_not_be_checked_keeps_its_findings() -> None:
    write(a=SAFE)
    amplint(*UPDATE)
    before = Path("known.json").read_bytes()
    Path("a.py").write_bytes(b"\0" + SAFE.encode())
    assert amplint(*UPDATE).exit_code == 2
    assert Path("known.json").read_bytes() == before
