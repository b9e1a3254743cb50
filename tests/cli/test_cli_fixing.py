"""The command line: fixing files and stdin."""

from __future__ import annotations

from pathlib import Path

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, codes, write

pytestmark = pytest.mark.usefixtures("demo_rules")


# -- fixing ------------------------------------------------------------------------------------------------------------


def test_fix_applies_what_is_safe() -> None:
    write(a=SAFE + UNSAFE, b=CLEAN)
    result = amplint("--fix")
    assert Path("a.py").read_text() == "good()\n" + UNSAFE
    assert result.stdout == "a.py:2:1: DEM102 `demo_unsafe` is called [unsafe]\n"
    assert result.stderr == (
        "Fixed 1 finding in 1 file\n1 finding remains in 1 of 2 files; 1 fixable with `--unsafe-fixes`\n"
        "`amplint explain DEM102` says why it matters and what to write instead\n"
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
    assert result.stderr.startswith("Found 1 finding in 1 of 1 file; 1 fixable with `--fix`\n")
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


# -- stdin -------------------------------------------------------------------------------------------------------------


def test_stdin_is_checked() -> None:
    result = amplint("-", stdin=SAFE)
    assert (result.stdout, result.exit_code) == ("-:1:1: DEM101 `demo_safe` is called [*]\n", 1)
    assert amplint("-", "--stdin-filename", "pkg/a.py", stdin=SAFE).stdout.startswith("pkg/a.py:1:1: DEM101")
    assert amplint("-", stdin=CLEAN).exit_code == 0


def test_a_name_for_stdin_asks_for_it() -> None:
    write(a=SAFE)
    assert amplint("--stdin-filename", "b.py", stdin=SAFE).stdout.startswith("b.py:1:1: DEM101")
    assert amplint("--stdin-filename", "b.py", "--fix", stdin=SAFE).stdout == "good()\n"
    both = amplint("--stdin-filename", "b.py", "a.py", stdin=SAFE)
    assert (both.exit_code, both.stdout) == (2, "")
    assert both.stderr.startswith("error: `--stdin-filename` names what is read from `-`, and no other path")


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
