"""The command line: settings in files, options and the environment, and how they go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from demo_run import CLEAN, SAFE, UNSAFE, amplint, codes, write

pytestmark = pytest.mark.usefixtures("demo_rules")


def settings(text: str) -> None:
    Path("amplint.toml").write_text(text)


# -- what settings do --------------------------------------------------------------------------------------------------


def test_the_form_of_the_report_and_fixing_may_be_set() -> None:
    write(a=SAFE + UNSAFE)
    settings("output-format = 'json'\nunsafe-fixes = true\n")
    assert [each["code"] for each in json.loads(amplint("a.py").stdout)] == ["DEM101", "DEM102"]
    assert amplint("a.py").stderr == "Found 2 findings in 1 of 1 file; 2 fixable with `--fix`\n"
    settings("fix = true\n")
    assert codes(amplint("--no-fix")) == ["DEM101", "DEM102"]
    assert codes(amplint("--output-format", "concise")) == ["DEM102"]
    assert Path("a.py").read_text() == "good()\n" + UNSAFE


def test_settings_fix_nothing_outside_of_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(a=SAFE, tree__b=SAFE)
    Path("tree/amplint.toml").write_text("fix = true\n")
    Path("tree/link.py").symlink_to("../a.py")
    monkeypatch.chdir("tree")
    for path in ("../a.py", "link.py", "..", str(tmp_path)):
        assert codes(amplint(path)) and Path("../a.py").read_text() == SAFE
    assert codes(amplint("b.py")) == []
    assert Path("b.py").read_text() == "good()\n"
    assert codes(amplint("../a.py", "--config", "amplint.toml")) == []


def test_options_go_over_the_environment_and_that_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(a=SAFE)
    settings("output-format = 'github'\n")
    assert amplint().stdout.startswith("::")
    monkeypatch.setenv("AMPLINT_OUTPUT_FORMAT", "jsonl")
    assert amplint().stdout.startswith("{")
    assert amplint("--output-format", "concise").stdout.startswith("a.py:1:1: ")


def test_an_unknown_form_of_the_report() -> None:
    write(a=SAFE)
    settings("\noutput-format = 'xml'\n")
    result = amplint()
    assert result.stderr.startswith("error: amplint.toml:2: `output-format` must be one of concise, ")
    assert (result.stdout, result.exit_code, result.stderr.count("\n")) == ("", 2, 1)


@pytest.mark.parametrize("line", ["output-format = 'jsno'", "select = ['AMP9999']", "fix = 1", "jobs = 2"])
def test_settings_of_a_folder_below_are_held_to_the_same(line: str) -> None:
    write(a=CLEAN, below__b=CLEAN)
    Path("below/amplint.toml").write_text(f"{line}\n")
    result = amplint(".")
    assert result.stderr.startswith("error: below/amplint.toml:1: "), result.stderr
    assert (result.stdout, result.exit_code, result.stderr.count("error: ")) == ("", 2, 1)


def test_a_bad_value_is_blamed_on_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "AMPLINT" not in amplint("--output-format", "nonsense").stderr
    monkeypatch.setenv("AMPLINT_OUTPUT_FORMAT", "nonsense")
    assert "AMPLINT_OUTPUT_FORMAT" in amplint().stderr
    assert amplint("--output-format", "concise").exit_code == 0


def test_variables_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(a=SAFE + UNSAFE)
    monkeypatch.setenv("AMPLINT_CONFIG", "ignore = ['DEM101']  # spaces and all")
    assert codes(amplint()) == ["DEM102"]
    settings("ignore = ['DEM102']\n")
    Path("amplint.toml").rename("strict.toml")
    monkeypatch.setenv("AMPLINT_CONFIG", "strict.toml")
    assert codes(amplint()) == ["DEM101"]
    monkeypatch.setenv("AMPLINT_OUTPUT_FILE", "report.txt")
    assert amplint().stdout == ""
    assert Path("report.txt").read_text() == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
    monkeypatch.setenv("AMPLINT_CACHE_DIR", "cache")
    amplint()
    assert list(Path("cache").rglob("*.cache"))
    monkeypatch.setenv("AMPLINT_CACHE_DIR", "other")
    monkeypatch.setenv("AMPLINT_NO_CACHE", "1")
    amplint()
    assert not Path("other").exists()
    monkeypatch.setenv("AMPLINT_NO_CACHE", "perhaps")
    assert (amplint().exit_code, amplint().stderr.count("\n")) == (2, 1)


def test_fixes_of_some_rules_only() -> None:
    write(a=SAFE + UNSAFE)
    result = amplint("--unfixable", "demo-safe", "--unsafe-fixes")
    assert result.stdout == "a.py:1:1: DEM101 `demo_safe` is called\na.py:2:1: DEM102 `demo_unsafe` is called [*]\n"
    settings("fixable = ['dem102']\n")
    amplint("--fix", "--unsafe-fixes")
    assert Path("a.py").read_text() == SAFE + "good()\n"
    full = amplint("--output-format", "json").stdout
    assert json.loads(full)[0]["no_fix"] == "the settings want none for this rule"
    assert codes(amplint("--fix", "--fixable", "ALL")) == []


def test_the_severity_of_a_rule_may_be_set_and_the_cache_knows() -> None:
    write(a=SAFE + UNSAFE)

    def severities() -> list[str]:
        return [each["severity"] for each in json.loads(amplint("--output-format", "json").stdout)]

    assert severities() == ["error", "error"]
    settings("severity = { DEM = 'info', demo-unsafe = 'warning' }\n")
    assert severities() == ["info", "warning"]
    assert severities() == ["info", "warning"]
    assert codes(amplint("--min-severity", "warning")) == ["DEM102"]
    assert (amplint("--fail-on", "warning").exit_code, amplint("--fail-on", "error").exit_code) == (1, 0)
    settings("severity = { DEM9 = 'info' }\n")
    assert amplint().stderr.startswith("error: amplint.toml:1: `severity`: unknown rule `DEM9`")


def test_which_files_are_looked_at() -> None:
    write(src__a=SAFE, tools__b=SAFE)
    Path("src/c.txt").write_text(SAFE)
    settings("include = ['src/*.py', '*.txt']\n")
    assert amplint("--show-files").stdout == "src/a.py\nsrc/c.txt\n"
    assert len(codes(amplint())) == 2
    Path(".git").mkdir()
    Path(".gitignore").write_text("src/\n")
    settings("")
    assert amplint("--show-files").stdout == "tools/b.py\n"
    assert amplint("--show-files", "--no-respect-gitignore").stdout == "src/a.py\ntools/b.py\n"
    settings("respect-gitignore = false\n")
    assert amplint("--show-files").stdout == "src/a.py\ntools/b.py\n"
    assert amplint("--show-files", "--respect-gitignore").stdout == "tools/b.py\n"
    assert amplint("--show-files", "nowhere.py").exit_code == 2


# -- what options do ---------------------------------------------------------------------------------------------------


def test_an_absolute_path_is_excluded(tmp_path: Path) -> None:
    write(a=SAFE, b__c=SAFE)
    assert [line.split(":")[0] for line in amplint("--exclude", str(tmp_path / "b")).stdout.splitlines()] == ["a.py"]
    assert codes(amplint("--exclude", f"{tmp_path}/b/c.py", str(tmp_path / "b"))) == []
    settings("[per-file-ignores]\n'x.py' = []\n")
    assert codes(amplint("--per-file-ignores", f"{tmp_path / 'b'}:DEM101", "b")) == []


def test_settings_as_options() -> None:
    write(a=SAFE + UNSAFE)
    settings("ignore = ['DEM102']\n")
    assert codes(amplint("--config", "ignore = ['DEM101']")) == ["DEM102"]
    assert codes(amplint("--config", "amplint.toml", "--config", "extend-select = ['DEM201']")) == ["DEM101"]
    for wrong, message in (
        ("ignroe = []", "--config: unknown key `ignroe`; did you mean `ignore`?"),
        ("ignore = ['DEM9']", "--config: `ignore`: unknown rule `DEM9`"),
        ("ignore = [", "--config: `ignore = [` is not valid TOML"),
    ):
        result = amplint("--config", wrong)
        assert (result.stdout, result.exit_code, result.stderr.count("\n")) == ("", 2, 1)
        assert result.stderr.startswith(f"error: {message}")
    assert amplint("--config", "a.toml", "--config", "b.toml").stderr.startswith("error: Invalid value for '--config'")


def test_settings_are_shown_as_they_are_written() -> None:
    write(a=SAFE, sub__b=SAFE, sub__c=SAFE)
    settings("select = ['DEM1']\nper-file-ignores = { 'x \"y' = ['DEM101'] }\ntorch-version = '2.6'\n")
    Path("sub/amplint.toml").write_text("severity = { DEM101 = 'info' }\nfix = true\n")
    result = amplint("--show-settings")
    first, second = result.stdout.split("\n\n")
    assert first.startswith('# a.py: amplint.toml\nselect = ["DEM1"]\n')
    assert 'per-file-ignores = { "x \\"y" = ["DEM101"] }\n' in first and 'torch-version = "2.6"\n' in first
    assert second.startswith("# sub/b.py and 1 more: sub/amplint.toml\n# select: the rules that are on by default\n")
    Path("shown.toml").write_text(first)
    assert (
        amplint("--show-settings", "a.py", "--config", "shown.toml").stdout.splitlines()[1:] == first.splitlines()[1:]
    )
    assert (Path("a.py").read_text(), result.exit_code) == (SAFE, 0)


def test_fix_only_says_nothing_of_what_remains() -> None:
    write(a=SAFE + UNSAFE)
    result = amplint("--fix-only")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "Fixed 1 finding in 1 file\n", 0)
    assert Path("a.py").read_text() == "good()\n" + UNSAFE
    assert (amplint("--fix-only").stderr, amplint("--fix-only").exit_code) == ("Nothing to fix\n", 0)
    assert amplint("--fix-only", "nowhere.py").exit_code == 2


def test_what_comments_silence_can_be_shown() -> None:
    write(a="demo_safe()  # noqa: DEM101\n# amplint: file-ignore[DEM102]\n" + UNSAFE + "x = 1  # noqa: DEM101\n")
    assert codes(amplint()) == ["AMP901"]
    assert codes(amplint("--ignore-noqa")) == ["DEM101", "DEM102"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", ""],
        ["--select", " , "],
        ["--ignore", ""],
        ["--fixable", ""],
        ["--torch-version", "99.0"],
        ["--torch-version", "0.1"],
        ["--fix", "--add-noqa"],
        ["--add-noqa", "--add-ignore"],
        ["--show-files", "--show-settings"],
        ["--show-files", "--fix"],
        ["--add-noqa=two\nlines"],
    ],
)
def test_options_that_mean_nothing(arguments: list[str]) -> None:
    write(a=SAFE)
    result = amplint(*arguments)
    assert (result.stdout, result.exit_code, result.stderr.count("\n")) == ("", 2, 1)
    assert Path("a.py").read_text() == SAFE


# -- suppressing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "comment"), [("--add-noqa", "# noqa: "), ("--add-ignore", "# amplint: ignore[")])
def test_a_comment_beside_each_finding(option: str, comment: str) -> None:
    write(a=SAFE + UNSAFE, b=CLEAN)
    shown = amplint(option, "--diff")
    assert (shown.stdout.count(f"+demo_safe()  {comment}"), shown.exit_code) == (1, 1)
    assert shown.stderr == "Would suppress 2 findings in 1 file\n"
    assert Path("a.py").read_text() == SAFE + UNSAFE
    result = amplint(option)
    assert (result.stdout, result.exit_code) == ("", 0)
    assert result.stderr == "Suppressed 2 findings in 1 file\nNo findings remain in 2 files\n"
    text = Path("a.py").read_text()
    assert text.count(comment) == 2
    assert (amplint(option).exit_code, Path("a.py").read_text()) == (0, text)


@pytest.mark.parametrize(
    ("option", "comment"), [("--add-noqa", "# noqa: DEM101"), ("--add-ignore", "# amplint: ignore[demo-safe]")]
)
def test_a_reason_beside_each_comment_and_never_a_path_for_one(option: str, comment: str) -> None:
    write(a=SAFE)
    assert amplint(f"{option}=measured: no overflow", "a.py").exit_code == 0
    assert Path("a.py").read_text() == f"demo_safe()  {comment} measured: no overflow\n"
    write(a=SAFE, b=SAFE)
    assert amplint(option, "a.py").exit_code == 0
    assert (Path("a.py").read_text(), Path("b.py").read_text()) == (f"demo_safe()  {comment}\n", SAFE)
    assert f"{option}[=REASON]" in amplint("check", "-h").stdout


def test_suppressing_goes_before_a_setting_that_fixes_and_leaves_syntax_errors() -> None:
    write(a=SAFE, b="def (:\n")
    settings("fix = true\n")
    result = amplint("--add-noqa", "a.py", "b.py")
    assert Path("a.py").read_text() == "demo_safe()  # noqa: DEM101\n"
    assert (codes(result), result.exit_code) == (["AMP900"], 1)


def test_a_text_on_stdin_is_suppressed_on_stdout() -> None:
    result = amplint("--add-noqa", "-", stdin=SAFE)
    assert result.stdout == "demo_safe()  # noqa: DEM101\n"
