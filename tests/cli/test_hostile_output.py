"""What a hostile tree says is shown as text: no terminal obeys it, no CI server takes it for a command, no eye is deceived."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from forked import forked_amplint
from program import AMPLINT, environment, on_a_terminal

from amplint.report.escape import printable, quoted_path

posix = pytest.mark.skipif(os.name != "posix", reason="needs file names that Windows does not have")

ESC, CSI, BEL, BIDI, HIDDEN = "\x1b", "\x9b", "\x07", "\u202e", "\u200b"
TITLE = f"{ESC}]0;pwned{BEL}"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
OURS = r"::(?:error|warning|notice) title=amplint |##vso\[task\.logissue type=(?:error|warning);"
COMMAND = re.compile(rf"^(?!{OURS})\s*::|(?<!^)##(?:vso|teamcity)?\[|^(?!{OURS})##(?:vso|teamcity)?\[", re.MULTILINE)

TRAINING = f"""\
import torch
scaler = torch.cuda.amp.GradScaler()  # {TITLE}{CSI}31m{BIDI}{HIDDEN} ##vso[task.prependpath]/evil ##[add-mask]x
'''
::error::pwned by a docstring
'''; other = torch.cuda.amp.GradScaler()
\tname = '{ESC}'; third = torch.cuda.amp.GradScaler()  # amplint: ignore[{ESC}{BIDI}]
""".replace("\tname", "name")
NAMES = (f"a{TITLE}.py", f"b{BIDI}.py", "c\n::error::pwned.py", "::error::d.py", "e##[error]pwned.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text(TRAINING)
    return tmp_path


def assert_harmless(done: subprocess.CompletedProcess[str]) -> None:
    """Nothing on either stream is obeyed by a terminal or by a CI server."""
    assert "Traceback" not in done.stderr
    for text in (done.stdout, done.stderr):
        assert OBEYED.search(text) is None, repr(text)
        assert COMMAND.search(text) is None, repr(text)


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ("--output-format", "concise"),
        ("--output-format", "full", "--unsafe-fixes"),
        ("--output-format", "github"),
        *(("--output-format", name) for name in ("azure", "grouped", "junit", "markdown", "pylint")),
        ("--statistics",),
        ("--fix", "--show-fixes", "--verbose"),
        ("--verbose", "--exclude", NAMES[0], *NAMES),
    ],
    ids=[
        "concise",
        "full",
        "github",
        "azure",
        "grouped",
        "junit",
        "markdown",
        "pylint",
        "statistics",
        "fix",
        "excluded",
    ],
)
def test_reports_and_notes(tree: Path, arguments: tuple[str, ...]) -> None:
    done = forked_amplint("--no-cache", *arguments, cwd=tree)
    assert done.returncode == 1
    assert_harmless(done)
    if "full" in arguments:
        assert r"\x23#vso[task.prependpath]/evil \x23#[add-mask]x" in done.stdout
        assert r"\x3a:error::pwned by a docstring" in done.stdout
    if "concise" in arguments:
        assert [line.split(":2:")[0] for line in done.stdout.splitlines() if ":2:" in line] == [
            r"\x3a:error::d.py", r"a\x1b]0;pwned\x07.py", r"b\u202e.py", r"c\n::error::pwned.py", r"e\x23#[error]pwned.py",
        ]  # fmt: skip


@posix
def test_problems(tree: Path) -> None:
    for name in NAMES:
        (tree / name).write_bytes(b"GradScaler = 1\0")
    (tree / "link\x1b.py").symlink_to("link\x1b.py")
    done = forked_amplint(".", "absent\x1b[31m.py", *(f"gone{name}" for name in NAMES), cwd=tree)
    assert done.returncode == 2
    assert done.stderr.count("contains NUL bytes") == len(NAMES)
    assert_harmless(done)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--select", f"AMP{ESC}[31m{BIDI}"),
        ("--output-format", f"con{ESC}cise"),
        (f"--no-{TITLE}-option",),
        ("--per-file-ignores", f"{ESC}"),
        ("--torch-version", f"{ESC}2.4"),
        ("--config", f"absent{ESC}.toml"),
        ("--stdin-filename", f"{ESC}"),
        ("explain", f"AMP{ESC}101"),
        ("verify", "--device", f"{ESC}"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_arguments_that_are_repeated(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    assert_harmless(forked_amplint(*arguments, cwd=tmp_path))


@pytest.mark.parametrize(
    "text",
    ['select = ["\\u001bAMP\\u202e"]', '"\\u001bselect" = 1', 'torch-version = "\\u001b"', 'exclude = ["\\u001b!"]',
     '[per-file-ignores]\n"\\u001b" = ["\\u009b"]', '[wrappers]\n"\\u001b" = "x"', '[wrappers]\n"a.b" = "\\u001b\\u202e.py"',
     "\x1b = 1"],
)  # fmt: skip
def test_settings_that_are_repeated(tmp_path: Path, text: str) -> None:
    (tmp_path / "amplint.toml").write_text(text)
    (tmp_path / "file.py").write_text("import torch\ntorch.autocast\n")
    assert_harmless(forked_amplint(".", cwd=tmp_path))


@posix
@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_json_keeps_the_exact_text(tree: Path, name: str) -> None:
    done = forked_amplint("--no-cache", "--output-format", name, cwd=tree)
    assert OBEYED.search(done.stdout) is None
    found = json.loads(done.stdout) if name == "json" else list(map(json.loads, done.stdout.splitlines()))
    assert {os.path.basename(one["filename"]) for one in found} == set(NAMES)
    assert any(ESC in one["message"] and BIDI in one["message"] for one in found)


@posix
@pytest.mark.parametrize("name", ["gitlab", "rdjson", "sarif"])
def test_json_for_others_shows_nothing_that_a_terminal_obeys(tree: Path, name: str) -> None:
    done = forked_amplint("--no-cache", "--output-format", name, cwd=tree)
    assert OBEYED.search(done.stdout) is None
    json.loads(done.stdout)


@posix
def test_bytes_of_a_file_name_that_are_no_text(tmp_path: Path) -> None:
    try:
        with open(os.fsencode(tmp_path) + b"/\xff.py", "w") as file:
            file.write(TRAINING)
    except OSError:
        pytest.skip("this file system has names of text only")
    done = forked_amplint("--no-cache", cwd=tmp_path)
    assert done.stdout.startswith(r"\udcff.py:2:")


def test_marks_stand_below_what_they_mark(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(f"import torch\nname = '\t{ESC}{BIDI}'; scaler = torch.cuda.amp.GradScaler()\n")
    lines = forked_amplint("--output-format", "full", "marked.py", cwd=tmp_path).stdout.splitlines()
    row = next(index for index, line in enumerate(lines) if line.startswith("  2 |"))
    assert r"\x1b\u202e'" in lines[row]
    assert lines[row + 1].index("^") == lines[row].index("torch.cuda.amp.GradScaler")


# -- diffs --------------------------------------------------------------------------------------------------------------


@posix
def test_a_diff_in_a_pipe_is_exact_and_applies(tree: Path) -> None:
    (tree / NAMES[3]).unlink()  # `patch` and git have no trouble with the others
    before = {path.name: path.read_bytes() for path in tree.iterdir()}
    done = subprocess.run([*AMPLINT, "--no-cache", "--diff", "."], cwd=tree, env=environment(), capture_output=True)
    headers = [line for line in done.stdout.split(b"\n") if line.startswith(b"--- ")]
    assert headers == [
        rb'--- "a\033]0;pwned\007.py"', rb'--- "b\342\200\256.py"', rb'--- "c\n::error::pwned.py"', b"--- e##[error]pwned.py",
    ]  # fmt: skip
    applied = subprocess.run(["git", "apply", "-p0", "-"], cwd=tree, input=done.stdout, capture_output=True)
    assert (applied.returncode, applied.stderr) == (0, b"")
    after = {path.name: path.read_bytes() for path in tree.iterdir()}
    assert forked_amplint("--no-cache", "--fix", cwd=tree).returncode == 1  # the unknown suppressions remain
    assert after != before
    assert {path.name: path.read_bytes() for path in tree.iterdir()} == after


@posix
@pytest.mark.parametrize("color", ["auto", "always"])
def test_a_diff_on_a_terminal_is_harmless(tree: Path, color: str) -> None:
    shown = on_a_terminal("--no-cache", "--quiet", "--diff", "--color", color, cwd=tree)
    own = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert "torch.amp.GradScaler" in own and r"\x1b]0;pwned" in own
    assert OBEYED.search(own) is None, repr(own)
    assert COMMAND.search(own) is None


# -- evidence -----------------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_evidence(tmp_path: Path, form: str) -> None:
    pytest.importorskip("torch")
    (tmp_path / f"<b>{NAMES[2]}").write_text(TRAINING)
    done = forked_amplint("verify", "--device", "cpu", "--output-format", form, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.count("pwned.py") >= 1
    assert "<b>c" not in done.stdout or form != "html"
    assert_harmless(done) if form != "json" else None
    assert OBEYED.search(done.stdout) is None
    if form == "json":
        assert {one["finding"]["path"] for one in json.loads(done.stdout)} == {f"<b>{NAMES[2]}"}


def test_flake8(tmp_path: Path) -> None:
    (tmp_path / "flagged.py").write_text(TRAINING)
    done = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select", "AMP", "flagged.py"], cwd=tmp_path, env=environment(),
        capture_output=True, text=True,
    )  # fmt: skip
    assert "AMP902" in done.stdout
    assert OBEYED.search(done.stdout) is None


# -- the spelling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe = '日本' # ok\u00a0\u3000❤\ufe0f", "größe = '日本' # ok\u00a0\u3000❤\ufe0f"),
        ("\x00\x7f\x85\t\r\n", r"\x00\x7f\x85\t\r\n"),
        ("\u2028\u2066\ufeff\udc80\U000e0041", r"\u2028\u2066\ufeff\udc80\U000e0041"),
        ("  ::set-output x", r"  \x3a:set-output x"),
        ("a::b", "a::b"),
        ("x[::2], y[::3]", "x[::2], y[::3]"),
        ("## [x] #[y]", "## [x] #[y]"),
    ],
)
def test_what_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a b.py", "a b.py"),
        ("größe.py", "größe.py"),
        ('"a".py', r'"\"a\".py"'),
        ("a\t\\\x1b.py", r'"a\t\\\033.py"'),
        ("\udcff", r'"\377"'),
        ("\ud800", r'"\355\240\200"'),
    ],
)
def test_names_in_diffs(name: str, written: str) -> None:
    assert quoted_path(name) == written
