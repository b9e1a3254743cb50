"""Configuration files: which one holds for a file, what it may say, and how it is told what is wrong with it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from amplint.engine.config import ConfigError, Overrides, Settings, SettingsResolver, inline, load
from amplint.engine.config_values import KEYS


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def pyproject(folder: Path, text: str = "") -> Path:
    return write(folder / "pyproject.toml", f"[project]\nname = 'x'\n[tool.amplint]\n{text}")


def origin(folder: Path) -> str:
    """The configuration file that holds for a folder."""
    return SettingsResolver(Overrides()).for_folder(folder).origin


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_everything_that_can_be_set(tmp_path: Path) -> None:
    text = """
select = ["AMP1", "backward-in-autocast"]
extend-select = ["AMP202"]
ignore = ["AMP104"]
exclude = ["vendor/", "*_pb2.py"]
torch-version = "2.10"
per-file-ignores = { "tests/" = ["AMP1"], "*.py" = [] }
"""
    expected = Settings(
        root=tmp_path,
        select=("AMP1", "backward-in-autocast"),
        extend_select=("AMP202",),
        ignore=("AMP104",),
        per_file_ignores=(("tests/", ("AMP1",)), ("*.py", ())),
        exclude=("vendor/", "*_pb2.py"),
        torch=(2, 10),
        origin="pyproject.toml",
    )
    assert load(pyproject(tmp_path, text)) == expected
    assert pickle.loads(pickle.dumps(expected)) == expected
    write(tmp_path / "amplint.toml", text)
    assert load(tmp_path / "amplint.toml").select == expected.select


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "pyproject.toml:4: unknown key `selct`; did you mean `select`?"),
        ("extend_select = []", "pyproject.toml:4: unknown key `extend_select`; did you mean `extend-select`?"),
        ("zzz = 1", "pyproject.toml:4: unknown key `zzz`"),
        ("extend = '../a.toml'", "pyproject.toml:4: unknown key `extend`; no settings of other files are added"),
        ("lint = {}", "pyproject.toml:4: unknown key `lint`; all keys stand in one table, without `lint`"),
        ("extend-exclude = []", "pyproject.toml:4: unknown key `extend-exclude`; did you mean `exclude`?"),
        ("select = 'AMP101'", "pyproject.toml:4: `select` must be a list of strings"),
        ("ignore = [1]", "pyproject.toml:4: `ignore` must be a list of strings"),
        ("per-file-ignores = ['a']", "pyproject.toml:4: `per-file-ignores` must be a table of patterns"),
        ("per-file-ignores = {a = 'AMP1'}", "pyproject.toml:4: `per-file-ignores.a` must be a list of strings"),
        ("torch-version = 2.1", 'pyproject.toml:4: `torch-version` must be a string such as "2.4"'),
        ("torch-version = 'two'", 'pyproject.toml:4: `torch-version` "two" is not a version such as "2.4"'),
        ("select = [", "pyproject.toml: is not valid TOML: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(pyproject(tmp_path, text))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("data", [b"[tool]\namplint = 1\n", b"# amplint\n\xff\n", b"# amplint\nx = " + b"9" * 5000])
def test_odd_documents(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(data)
    with pytest.raises(ConfigError, match=r"^pyproject\.toml: "):
        load(tmp_path / "pyproject.toml")


@pytest.mark.parametrize("text", ["", "not TOML at all", "tool = 'amplint'", "[tool.other]\nx = 'amplint'"])
def test_a_pyproject_that_says_nothing_to_amplint_is_as_none(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "pyproject.toml", text)
    assert origin(tmp_path) != "pyproject.toml"
    assert load(path) == Settings(tmp_path, origin="pyproject.toml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^nowhere\.toml: cannot be read: No such file"):
        load(tmp_path / "nowhere.toml")


def test_the_nearest_file_that_speaks_of_amplint_is_found(tmp_path: Path) -> None:
    pyproject(tmp_path)
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert origin(tmp_path / "a" / "b") == "pyproject.toml"
    write(tmp_path / "a" / "pyproject.toml", "[tool.other]\nx = 'amplint'\n")
    assert origin(tmp_path / "a" / "b") == "pyproject.toml"
    write(tmp_path / "a" / "b" / "amplint.toml", "")
    assert origin(tmp_path / "a" / "b") == origin(tmp_path / "a" / "b" / "c") == "a/b/amplint.toml"
    pyproject(tmp_path / "a" / "b")
    assert origin(tmp_path / "a" / "b") == "a/b/amplint.toml", "amplint.toml goes before pyproject.toml"


def test_each_file_has_its_own_settings(tmp_path: Path) -> None:
    pyproject(tmp_path, "ignore = ['AMP101']")
    pyproject(tmp_path / "sub", "ignore = ['AMP104']")
    (tmp_path / "sub" / "deep").mkdir()
    (tmp_path / "other").mkdir()
    resolver = SettingsResolver(Overrides())
    assert resolver.for_file(tmp_path / "a.py").ignore == ("AMP101",)
    assert resolver.for_file(tmp_path / "other" / "a.py").ignore == ("AMP101",)
    assert resolver.for_file(tmp_path / "sub" / "deep" / "a.py") == load(tmp_path / "sub" / "pyproject.toml")


def test_one_file_for_all_and_none_at_all(tmp_path: Path) -> None:
    pyproject(tmp_path, "ignore = ['AMP101']")
    given = write(tmp_path / "conf" / "strict.toml", "ignore = ['AMP104']")
    settings = SettingsResolver(Overrides(), config=given).for_file(tmp_path / "a.py")
    assert (settings.ignore, settings.root) == (("AMP104",), tmp_path / "conf")
    assert SettingsResolver(Overrides(), isolated=True).for_file(tmp_path / "a.py") == Settings(tmp_path)


def test_the_command_line_goes_over_the_file(tmp_path: Path) -> None:
    pyproject(tmp_path, "select = ['AMP1']\nignore = ['AMP104', 'AMP105']\nexclude = ['a']\ntorch-version = '2.3'")

    def settings(overrides: Overrides) -> Settings:
        return SettingsResolver(overrides).for_file(tmp_path / "a.py")

    adding = settings(Overrides(extend_select=("AMP104",), ignore=("AMP101",), exclude=("b",), torch=(2, 6)))
    assert (adding.select, adding.extend_select) == (("AMP1",), ("AMP104",))
    assert adding.ignore == ("AMP105", "AMP101"), "what is asked for here is not ignored any more"
    assert (adding.exclude, adding.torch) == (("a", "b"), (2, 6))
    afresh = settings(Overrides(select=("AMP2",)))
    assert (afresh.select, afresh.ignore, afresh.exclude) == (("AMP2",), (), ("a",))


def test_patterns_of_the_command_line_are_relative_to_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyproject(tmp_path)
    (tmp_path / "src" / "gen").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src")
    overrides = Overrides(exclude=("gen/*.py", "data"), per_file_ignores=(("./a.py", ("AMP1",)),))
    settings = SettingsResolver(overrides).for_file(tmp_path / "src" / "a.py")
    assert settings.root == tmp_path
    excluded = [
        name for name in ("src/gen/x.py", "gen/x.py", "src/x/data/y.py") if settings.excludes(str(tmp_path / name))
    ]
    assert excluded == ["src/gen/x.py", "src/x/data/y.py"]
    assert settings.ignored_in(str(tmp_path / "src" / "a.py")) == ("AMP1",)
    assert settings.ignored_in(str(tmp_path / "a.py")) == ()


def test_patterns_typed_above_the_configuration_file(tmp_path: Path) -> None:
    pyproject(tmp_path / "pkg")
    overrides = Overrides(exclude=("p*/gen.py", "elsewhere/gen.py"))
    settings = SettingsResolver(overrides).for_file(tmp_path / "pkg" / "a.py")
    assert settings.excludes(str(tmp_path / "pkg" / "gen.py"))
    assert not settings.excludes(str(tmp_path / "pkg" / "elsewhere" / "gen.py"))
    assert not settings.excludes(str(tmp_path / "pkg" / "sub" / "gen.py"))


def test_a_bad_pattern_is_named(tmp_path: Path) -> None:
    settings = load(pyproject(tmp_path, "exclude = ['!']"))
    with pytest.raises(ConfigError, match="^pyproject.toml:4: `exclude`: bad pattern"):
        settings.excludes(str(tmp_path / "a.py"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# first\nselect = 'AMP101'", "5: `select` must be a list of strings"),
        ("select = []", "4: `select` names no rule; leave it out for the default set"),
        ("ignore = ['']", "4: `ignore` holds an empty string, which names no rule"),
        (
            "[tool.amplint.per-file-ignores]\n'a' = ['AMP1']\n'b/**' = 'AMP1'",
            '6: `per-file-ignores."b/**"` must be a list',
        ),
        (
            "per-file-ignores = 3",
            '4: `per-file-ignores` must be a table of patterns, each with a list of rules: "tests/**"',
        ),
        ("wrappers = { x = 1 }", "4: `wrappers` must be a table of modules"),
        ("severity = 'error'", "4: `severity` must be a table of rules"),
        ("[tool.amplint.severity]\nAMP101 = 'bad'", '5: `severity.AMP101` must be "error" or "warning" or "info"'),
        ("rules = { AMP401 = 8 }", "4: `rules.AMP401` must be a table of the options of the rule"),
        (
            "rules.AMP101 = {}\nrules.AMP401 = 8",
            "5: `rules.AMP401` must be a table of the options of the rule",
        ),
        ("fix = 'yes'", "4: `fix` must be true or false"),
        ("# \u2028\x85\nfix = 'yes'", "5: `fix` must be true or false"),
        ("cache-dir = ''", "4: `cache-dir` must be a string"),
        ("torch-version = '99.0'", '4: `torch-version` there is no PyTorch "99.0"'),
        ("torch-version = '0.1'", '4: `torch-version` there is no PyTorch "0.1"'),
        ("torch-version = '1.14'", '4: `torch-version` there is no PyTorch "1.14"'),
        ("zzz = 1", "4: unknown key `zzz`; the keys are select, extend-select, ignore, "),
    ],
)
def test_the_row_and_the_key_of_a_bad_value_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(pyproject(tmp_path, text))
    assert str(error.value).startswith(f"pyproject.toml:{message}")
    assert "\n" not in str(error.value)


def test_the_table_of_pyproject_is_not_for_a_file_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(write(tmp_path / "amplint.toml", "[tool.amplint]\nselect = ['AMP1']\n"))
    assert str(error.value) == "amplint.toml: `[tool.amplint]` is for pyproject.toml; here the keys stand without it"


def test_every_key_has_a_field_and_an_example_that_can_be_read(tmp_path: Path) -> None:
    for key in KEYS.values():
        settings = (
            load(write(tmp_path / "amplint.toml", f"{key.name} = {key.example}\n")) if key.name != "wrappers" else None
        )
        if settings is not None:
            assert getattr(settings, key.field) != getattr(Settings(tmp_path), key.field), key.name


def test_settings_on_the_command_line_go_over_the_file_and_under_the_options(tmp_path: Path) -> None:
    pyproject(tmp_path, "select = ['AMP1']\nignore = ['AMP104']\nexclude = ['a']")
    given = inline(["select = ['AMP2']", "exclude = ['./gen/*.py']\nfix = true", "select = ['AMP3']"])
    (tmp_path / "src").mkdir()
    overrides = Overrides(ignore=("AMP301",), inline=given)
    settings = SettingsResolver(overrides).for_file(tmp_path / "a.py")
    assert (settings.select, settings.ignore, settings.fix) == (("AMP3",), ("AMP104", "AMP301"), True)
    assert not settings.excludes(str(tmp_path / "a"))
    assert settings.excludes(str(tmp_path / "gen" / "x.py"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "--config: unknown key `selct`; did you mean `select`?"),
        ("select = 1", "--config: `select` must be a list of strings"),
        ("select = [", "--config: `select = [` is not valid TOML: "),
        ("wrappers = { x = 'nowhere.py' }", "--config: `wrappers.x`: nowhere.py cannot be read: No such file"),
    ],
)
def test_bad_settings_on_the_command_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        inline([text])
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_broken_settings_around_the_current_folder_say_why_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "amplint.toml", "nonsense = 1")
    inner = tmp_path / "checkout"
    inner.mkdir()
    monkeypatch.chdir(inner)
    with pytest.raises(ConfigError, match="unknown key `nonsense`.*; it holds here .* `--isolated`"):
        SettingsResolver(Overrides()).for_folder(inner)
    pyproject(inner)
    assert SettingsResolver(Overrides()).for_folder(inner).origin == "pyproject.toml"
