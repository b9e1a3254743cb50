"""Configuration files: which one holds for a file, what it may say, and how it is told what is wrong with it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from amplint.engine.config import ConfigError, Overrides, Settings, SettingsResolver, load


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
        ("selct = []", "pyproject.toml: unknown key `selct`; did you mean `select`?"),
        ("extend_select = []", "pyproject.toml: unknown key `extend_select`; did you mean `extend-select`?"),
        ("zzz = 1", "pyproject.toml: unknown key `zzz`"),
        ("select = 'AMP101'", "pyproject.toml: `select` must be a list of strings"),
        ("ignore = [1]", "pyproject.toml: `ignore` must be a list of strings"),
        ("per-file-ignores = ['a']", "pyproject.toml: `per-file-ignores` must be a table of patterns"),
        ("per-file-ignores = {a = 'AMP1'}", "pyproject.toml: `per-file-ignores` must be a list of strings"),
        ("torch-version = 2.1", 'pyproject.toml: `torch-version` must be a string such as "2.4"'),
        ("torch-version = 'two'", 'pyproject.toml: `torch-version` "two" is not a version such as "2.4"'),
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
    with pytest.raises(ConfigError, match="^pyproject.toml: `exclude`: bad pattern"):
        settings.excludes(str(tmp_path / "a.py"))
