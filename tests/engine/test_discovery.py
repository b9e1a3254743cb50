"""Which files a run looks at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import Discovered, Excluded, FoundFile, Problem, discover


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def touch(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def everything(*paths: str, **overrides: tuple[str, ...]) -> list[Discovered]:
    return list(discover(paths, SettingsResolver(Overrides(**overrides))))  # type: ignore[arg-type]


def files(*paths: str, **overrides: tuple[str, ...]) -> list[str]:
    found = everything(*paths, **overrides)
    assert all(isinstance(item, FoundFile) for item in found), found
    return [item.display for item in found]


def test_folders_are_walked_for_python_files_and_notebooks_in_order() -> None:
    touch("b.py", "a/z.py", "a/b/c.py", "c.pyi", "d.txt", "e.ipynb", "py", ".hidden/f.py", "Z.py")
    assert files(".") == [".hidden/f.py", "Z.py", "a/b/c.py", "a/z.py", "b.py", "e.ipynb"]


def test_what_files_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch("pkg/a.py", "other/b.py")
    assert files("./pkg/../pkg") == ["pkg/a.py"]
    assert files(str(tmp_path / "pkg")) == ["pkg/a.py"]
    monkeypatch.chdir(tmp_path / "pkg")
    assert files("../other") == [str(tmp_path / "other" / "b.py")]


def test_each_file_comes_once_and_named_files_keep_their_order() -> None:
    touch("b.py", "a.py", "pkg/c.py")
    assert files("pkg/c.py", "b.py", "pkg", "b.py", ".") == ["pkg/c.py", "b.py", "a.py"]


def test_a_named_file_is_taken_whatever_it_is_called() -> None:
    touch("script", "build/x.py", "ignored.py")
    Path(".gitignore").write_text("ignored.py\n")
    found = everything("script", "build/x.py", "ignored.py")
    assert [(item.display, item.explicit) for item in found if isinstance(item, FoundFile)] == [
        ("script", True),
        ("build/x.py", True),
        ("ignored.py", True),
    ]
    assert files(".") == []


def test_folders_that_hold_no_source_are_not_entered_unless_named() -> None:
    touch("a.py", ".venv/x.py", "node_modules/y.py", "pkg/__pycache__/z.py", "build/lib/b.py", "pkg/dist.py")
    assert files(".") == ["a.py", "pkg/dist.py"]
    assert files("build") == ["build/lib/b.py"]


def test_excludes() -> None:
    touch("a.py", "gen/b.py", "pkg/gen/c.py", "pkg/d_pb2.py", "pkg/keep_pb2.py", "docs/x.py", "pkg/docs/y.py")
    patterns = ("gen", "*_pb2.py", "!keep_pb2.py", "/docs")
    assert files(".", exclude=patterns) == ["a.py", "pkg/docs/y.py", "pkg/keep_pb2.py"]


def test_excludes_hold_for_what_is_named_as_well() -> None:
    touch("gen/b.py", "gen/sub/c.py", "a.py")
    found = everything("gen/b.py", "gen/sub", "a.py", exclude=("gen/",))
    assert [item.display for item in found if isinstance(item, Excluded)] == ["gen/b.py", "gen/sub"]
    assert [item.display for item in found if isinstance(item, FoundFile)] == ["a.py"]


def test_excludes_of_a_nested_configuration_file() -> None:
    touch("a/x.py", "a/skip.py", "skip.py")
    Path("a/amplint.toml").write_text("exclude = ['skip.py']")
    assert files(".") == ["a/x.py", "skip.py"]


def test_nested_gitignores() -> None:
    touch("a.py", "gen/b.py", "pkg/a_gen.py", "pkg/keep_gen.py", "pkg/sub/c.py", "pkg/sub/d.py", "top.py", "pkg/top.py")
    Path(".gitignore").write_text("# made\ngen/\n*_gen.py\n/top.py\n")
    Path("pkg/.gitignore").write_text("!keep_gen.py\nsub/*\n!sub/d.py\n")
    assert files(".") == ["a.py", "pkg/keep_gen.py", "pkg/sub/d.py", "pkg/top.py"]


def test_gitignores_above_count_up_to_the_top_of_the_repository() -> None:
    touch("repo/pkg/sub/a.py", "repo/pkg/sub/b_gen.py", "repo/pkg/sub/outer.py")
    Path(".gitignore").write_text("outer.py\n")
    Path("repo/.gitignore").write_text("*_gen.py\n")
    assert files("repo/pkg/sub") == ["repo/pkg/sub/a.py", "repo/pkg/sub/b_gen.py", "repo/pkg/sub/outer.py"]
    Path("repo/.git").mkdir()
    assert files("repo/pkg/sub") == ["repo/pkg/sub/a.py", "repo/pkg/sub/outer.py"]


def test_a_named_folder_that_git_ignores_is_walked() -> None:
    touch("data/a.py", "data/b_gen.py")
    Path(".git").mkdir()
    Path(".gitignore").write_text("data\n")
    assert files("data") == ["data/a.py", "data/b_gen.py"]
    assert files(".") == []


def test_what_is_not_there() -> None:
    touch("a.py")
    assert everything("nowhere.py", "a.py/b.py")[0] == Problem("nowhere.py", "does not exist")
    assert everything("a.py/b.py") == [Problem("a.py/b.py", "cannot be read: Not a directory")]
    assert everything("a\0b") == [Problem("a\0b", "is not a path")]


def test_links() -> None:
    touch("pkg/a.py")
    os.symlink(".", "pkg/around")
    os.symlink("../pkg", "pkg/again")
    os.symlink("nowhere.py", "pkg/dangling.py")
    os.symlink("a.py", "pkg/link.py")
    os.symlink("pkg", "named")
    assert files("pkg") == ["pkg/a.py"]
    assert files("named") == ["named/a.py"]
    assert everything("pkg/dangling.py") == [Problem("pkg/dangling.py", "does not exist")]


def test_a_file_with_several_names_comes_once_under_the_first_that_is_no_link() -> None:
    touch("pkg/z.py", "other.py")
    os.symlink("z.py", "pkg/a.py")
    os.symlink("pkg", "again")
    os.link("pkg/z.py", "hard.py")
    assert files(".") == ["hard.py", "other.py"]
    assert files("pkg") == ["pkg/z.py"]
    assert files("pkg/a.py", "pkg") == ["pkg/z.py"]
    assert files("pkg/a.py") == ["pkg/a.py"]
    assert files("other.py", "./other.py", "pkg/../other.py", str(Path("other.py").absolute())) == ["other.py"]
    assert files("again", "pkg") == ["again/z.py"]


def test_other_names_of_a_file_are_known() -> None:
    touch("z.py")
    os.symlink("z.py", "a.py")
    os.link("z.py", "hard.py")
    os.link("z.py", "more.py")
    (found,) = everything(".", "a.py", "z.py")
    assert isinstance(found, FoundFile)
    assert (found.display, found.explicit) == ("hard.py", True)
    assert [os.path.basename(name) for name in found.others] == ["more.py", "z.py"]


def test_links_that_lead_out_of_the_given_paths() -> None:
    touch("outside/x.py", "pkg/a/y.py", "pkgs/z.py")
    for name, target in {
        "pkg/out.py": "../outside/x.py",
        "pkg/in.py": "gone/../a/y.py",
        "pkg/a/middle.py": "../out.py",
        "pkg/beside.py": "../pkgs/z.py",
    }.items():
        os.symlink(target, name)
    os.mkdir("pkg/gone")
    os.symlink("pkg", "named")

    def out(*paths: str) -> list[str]:
        return [one.display for one in everything(*paths) if isinstance(one, FoundFile) and one.leads_out]

    assert files("pkg") == ["pkg/a/middle.py", "pkg/a/y.py", "pkg/beside.py"]
    assert out("pkg") == ["pkg/a/middle.py", "pkg/beside.py"]
    assert out("named") == ["named/a/middle.py", "named/beside.py"]
    assert out("pkg", "outside", "pkgs") == out(".") == []
    assert out("pkg/out.py", "pkg/in.py") == ["pkg/out.py"]
    assert out("pkg/out.py", "outside/x.py") == []


def test_a_link_to_itself() -> None:
    os.mkdir("pkg")
    os.symlink("loop.py", "pkg/loop.py")
    problem = Problem("pkg/loop.py", "is a loop of symbolic links")
    assert everything("pkg/loop.py") == [problem]
    assert everything("pkg") == [problem]


def test_a_broken_configuration_file_stops_its_folder_only() -> None:
    touch("a/x.py", "b/y.py")
    Path("a/amplint.toml").write_text("selct = []")
    found = everything(".")
    assert found[0] == Problem("", "a/amplint.toml:1: unknown key `selct`; did you mean `select`?")
    assert [item.display for item in found[1:]] == ["b/y.py"]


_AS_NOBODY = """
import os, sys
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import discover
if os.geteuid() == 0:  # whom no mode keeps out
    os.setegid(65534)
    os.seteuid(65534)
for item in discover(["."], SettingsResolver(Overrides())):
    print(*item[:2] if hasattr(item, "message") else (item.display,))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="modes close folders on POSIX only")
def test_an_unreadable_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.chdir(folder)
        touch("a/x.py", "b/y.py")
        os.chmod("a", 0)
        run = subprocess.run([sys.executable, "-c", _AS_NOBODY], capture_output=True, text=True)
        os.chmod("a", 0o755)
    assert run.stdout.splitlines() == ["a cannot be read: Permission denied", "b/y.py"], run.stderr
