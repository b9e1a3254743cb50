"""The commands that tell what amplint knows, words that are no command, and completion in a shell."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from demo_run import SAFE, amplint, codes, write

from amplint import __version__
from amplint.cli.main import COMMANDS
from amplint.engine.config_values import KEYS

pytestmark = pytest.mark.usefixtures("demo_rules")


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("help", "there is no command, file or folder `help`; did you mean `amplint -h`?"),
        ("lint", "there is no command, file or folder `lint`; did you mean `amplint check`?"),
        ("chek", "there is no command, file or folder `chek`; did you mean `check`?"),
        ("rule", "there is no command, file or folder `rule`; did you mean `amplint explain`?"),
        ("format", "there is no command, file or folder `format`: code is not laid out; `amplint check --fix`"),
        ("completion", 'there is no command, file or folder `completion`: in ~/.bashrc, `eval "$(_AMPLINT_COMPLETE='),
        ("src", "there is no command, file or folder `src`"),
        ("src/", "src/: does not exist"),
        ("chek.py", "chek.py: does not exist"),
    ],
)
def test_a_word_that_is_neither_a_command_nor_a_path(word: str, message: str) -> None:
    write(a=SAFE)
    result = amplint(word, "a.py")
    assert (result.exit_code, result.stderr.startswith(f"error: {message}")) == (2, True)


def test_a_path_goes_before_a_guess() -> None:
    write(chek__a=SAFE, help__b=SAFE)
    assert codes(amplint("chek")) == codes(amplint("help")) == ["DEM101"]


@pytest.mark.parametrize(
    "options", [["-q"], ["--config", "ignore = []", "-q"], ["--output-format=concise", "--isolated"]]
)
def test_options_may_stand_before_the_command(options: list[str]) -> None:
    write(a=SAFE, check__b=SAFE)
    assert codes(amplint(*options, "check", "a.py")) == ["DEM101", "DEM101"], "`check` is a folder here"
    Path("check").rename("other")
    assert codes(amplint(*options, "check", "a.py")) == ["DEM101"]
    assert amplint("--add-noqa", "check", "a.py").exit_code == 0
    assert amplint("--quiet", "version").stderr.startswith("error: there is no option `--quiet`")


# -- rules -------------------------------------------------------------------------------------------------------------


def test_several_rules_are_explained() -> None:
    shown = amplint("explain", "dem103", "demo-safe").stdout
    assert [line for line in shown.splitlines() if line.startswith("# ")] == [
        "# DEM101 demo-safe",
        "# DEM103 demo-display",
    ]
    assert amplint("explain", "DEM1").stdout.count("\n# DEM") == 2
    records = json.loads(amplint("explain", "all", "--output-format", "json").stdout)
    records = [each for each in records if each["code"].startswith("DEM")]
    assert [each["code"] for each in records] == ["DEM101", "DEM102", "DEM103", "DEM201", "DEM301"]
    assert records[0]["explanation"].startswith("Calls of demo_safe.\n\n## What it does\n")
    assert {"name", "summary", "fix", "severity", "since"} <= records[0].keys()


@pytest.mark.parametrize("command", ["explain", "rules"])
def test_no_code_is_guessed_from_another(command: str) -> None:
    for word in ("DEM109", "dem9999"):
        result = amplint(command, "DEM101", word)
        assert (result.stdout, result.exit_code) == ("", 2)
        assert result.stderr == f"error: unknown rule `{word}`; `amplint rules` lists them\n"


def test_some_rules_are_listed() -> None:
    heads, *lines = amplint("rules", "dem2", "demo-safe").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["DEM101", "DEM201"]
    for head, words in {"Name": ("demo-safe", "demo-optional"), "Sure": ("high", "medium", "low")}.items():
        assert all(line[heads.index(head) :].startswith(words) for line in lines), head
    listed = json.loads(amplint("rules", "DEM2", "--output-format", "json").stdout)
    assert [each["name"] for each in listed] == ["demo-optional"]


# -- settings, version, cache ------------------------------------------------------------------------------------------


def test_keys_are_listed_and_described() -> None:
    assert [line.split()[0] for line in amplint("config").stdout.splitlines()] == list(KEYS)
    shown = amplint("config", "select", "fix").stdout
    assert shown.startswith("select: list of rules\nThe rules to run: ")
    assert "\nDefault: false\nExample: fix = true\n" in shown
    records = json.loads(amplint("config", "--output-format", "json").stdout)
    assert [each["name"] for each in records] == list(KEYS)
    assert all(each.keys() == {"name", "type", "default", "example", "doc"} for each in records)
    wrong = amplint("config", "selct")
    assert (wrong.stdout, wrong.exit_code) == ("", 2)
    assert wrong.stderr == "error: unknown key `selct`; did you mean `select`?\n"


def test_the_version() -> None:
    assert amplint("version").stdout == amplint("--version").stdout == f"amplint {__version__}\n"
    found = json.loads(amplint("version", "--output-format", "json").stdout)
    assert (found["amplint"], found["python"]) == (__version__, platform.python_version())


def test_the_cache_is_removed_and_nothing_else() -> None:
    write(a=SAFE)
    here = Path.cwd()
    assert amplint("clean", "--cache-dir", "cache").stderr == f"No cache of {here} in cache\n"
    amplint("a.py", "--cache-dir", "cache")
    (folder,) = (path for path in Path("cache").iterdir() if path.is_dir())
    Path("cache/mine").mkdir()
    Path("cache/mine/x.cache").write_text("")
    assert amplint("clean", "--cache-dir", "cache").stderr == f"Removed the cache of {here} from cache\n"
    assert not folder.exists() and Path("cache/mine/x.cache").exists()
    assert codes(amplint("a.py", "--cache-dir", "cache")) == ["DEM101"]
    Path("amplint.toml").write_text("cache-dir = 'set'\n")
    amplint("a.py")
    assert amplint("clean", "-q").stderr == ""
    assert not list(Path("set").rglob("*.cache"))


def test_the_caches_of_other_projects_stay_unless_all_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    write(a=SAFE)
    cache = Path.cwd() / "cache"
    projects = [Path("one"), Path("two"), Path("three")]
    for project in projects:
        (project / "src").mkdir(parents=True)
        (project / "amplint.toml").write_text("")
        (project / "src/a.py").write_text(SAFE)
        amplint(str(project), "--cache-dir", str(cache))
    assert len(list(cache.rglob("*.cache"))) == 3
    root = Path.cwd() / "one"
    monkeypatch.chdir(root / "src")
    assert amplint("clean", "--cache-dir", str(cache)).stderr == f"Removed the cache of {root} from {cache}\n"
    assert len(list(cache.rglob("*.cache"))) == 2
    assert amplint("clean", "--cache-dir", str(cache)).stderr == f"No cache of {root} in {cache}\n"
    assert (
        amplint("clean", "--all", "--cache-dir", str(cache)).stderr == f"Removed the cache of 2 folders from {cache}\n"
    )
    assert not list(cache.rglob("*.cache"))
    assert amplint("clean", "--all", "--cache-dir", str(cache)).stderr == f"No cache in {cache}\n"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX links")
def test_no_cache_is_removed_behind_a_link() -> None:
    write(a=SAFE)
    amplint("a.py", "--cache-dir", "cache")
    Path("link").symlink_to("cache")
    result = amplint("clean", "--cache-dir", "link")
    assert (result.stderr, result.exit_code) == ("error: the cache cannot be removed: link is a symbolic link\n", 2)
    assert list(Path("cache").rglob("*.cache"))
    result = amplint("clean", "--cache-dir", "a.py")
    assert (result.stderr, result.exit_code) == ("error: the cache cannot be removed: a.py: Not a directory\n", 2)


# -- completion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["amplint", ""], {*COMMANDS, "file"}),
        (["amplint", "ex"], {"explain", "file"}),
        (["amplint", "--show-s"], {"--show-settings", "file"}),
        (["amplint", "a.py", "--show-f"], {"--show-files", "--show-fixes"}),
        (["amplint", "check", "x"], {"file"}),
        (["amplint", "--select", "AMP10,amp90"], {"AMP10,AMP900", "AMP10,AMP901", "AMP10,AMP902"}),
        (["amplint", "explain", "unused"], {"unused-suppression"}),
        (["amplint", "config", "extend"], {"extend-select"}),
        (["amplint", "--output-format", "git"], {"github", "gitlab"}),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_what_bash_offers(typed: list[str], offered: set[str], tmp_path: Path) -> None:
    (tmp_path / "amplint").write_text(f'#!/bin/sh\nexec {sys.executable} -m amplint "$@"\n')
    (tmp_path / "amplint").chmod(0o755)
    words = " ".join(f"'{word}'" for word in typed)
    script = f"""
    eval "$(_AMPLINT_COMPLETE=bash_source amplint)"
    COMP_WORDS=({words}) COMP_CWORD={len(typed) - 1}
    compopt() {{ COMPREPLY+=(file); }}
    _amplint_completion amplint
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert {line for line in done.stdout.split("\n") if line} == offered


def test_the_help_tells_each_command_in_one_whole_sentence() -> None:
    listed = amplint("-h").stdout.partition("Commands:\n")[2].splitlines()
    assert len(listed) == len(COMMANDS)
    for command, line in zip(COMMANDS, listed):
        assert line.split()[0] == command and line.endswith(".") and not line.endswith("...")


def test_the_help_names_the_variables_that_stand_in_for_options() -> None:
    told = amplint("check", "-h").stdout
    variables = ("CACHE_DIR", "CONFIG", "NO_CACHE", "OUTPUT_FILE", "OUTPUT_FORMAT")
    assert all(f"[env var: AMPLINT_{name}" in " ".join(told.split()) for name in variables)


@pytest.mark.parametrize("arguments", [("--line-length", "3"), ("check", "--line-width")])
def test_an_error_about_options_ends_in_one_way(arguments: tuple[str, ...]) -> None:
    done = amplint(*arguments)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and ".;" not in done.stderr
    assert "PATTERN:RULE,...; see" in amplint("--per-file-ignores", "x").stderr
