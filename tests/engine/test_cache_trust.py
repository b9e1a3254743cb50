"""A cache that somebody else could have written, or a place that cannot be written, changes no finding."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cached_project import caches, check, fresh_project, held, no_cache, seal
from program import amplint, problems

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fresh_project(tmp_path, monkeypatch)


def test_a_folder_that_cannot_be_written_is_no_problem(project: Path) -> None:
    (project.parent / "user").write_text("in the way")
    no_cache(project, "Not a directory")


HOMES = {
    "/dev/null": "Not a directory",
    "/nowhere/at/all": "/nowhere/at/all",
}
"""What `HOME` may be set to, and what is said of it."""


@posix
@pytest.mark.parametrize("home", HOMES)
def test_without_a_home_nothing_is_kept(project: Path, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if home.startswith("/nowhere") and os.geteuid() == 0:
        pytest.skip("the superuser can make a home anywhere")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", home)
    before = sorted(project.rglob("*"))
    no_cache(project, HOMES[home])
    assert sorted(project.rglob("*")) == before


@posix
def test_a_cache_folder_in_other_hands_is_not_used(project: Path) -> None:
    folder = project / "cache"
    (project / "elsewhere").mkdir()
    folder.symlink_to("elsewhere")
    no_cache(project, "is a symbolic link", "--cache-dir", "cache", chosen=True)
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    no_cache(project, "is open to other users", "--cache-dir", "cache", chosen=True)
    if os.geteuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 65534, 65534)
        no_cache(project, "belongs to another user", "--cache-dir", "cache", chosen=True)
    assert not list((project / "elsewhere").iterdir())


@posix
def test_a_secret_that_others_know_is_not_used(project: Path) -> None:
    check(project)
    (project.parent / "user" / "amplint" / "secret").chmod(0o644)
    no_cache(project, "is open to other users")


def test_a_secret_that_was_half_written_is_made_anew(project: Path) -> None:
    check(project)
    (project.parent / "user" / "amplint" / "secret").write_bytes(b"short")
    check(project)
    assert len(held(project)[0]) == 20


def test_a_cache_that_came_with_the_tree_is_not_believed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged cache that says that all is well, and links that lead to the user's files."""
    cold = check(project, "--no-cache")
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "stranger"))
    check(project)
    (file,) = caches(project / "cache")
    told = held(project / "cache")
    for entry in told[0].values():
        entry[2] = None
    seal(file, json.dumps(told).encode(), project.parent / "stranger")
    assert amplint(".", cwd=project).returncode == 0  # whoever forged it believes it
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.parent / "user"))
    assert check(project) == cold


@posix
def test_links_in_a_cache_that_came_with_the_tree_are_not_followed(project: Path) -> None:
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    check(project)
    (file,) = caches(project / "cache")
    mine = project.parent / "mine"
    for path in list(file.parent.iterdir()):
        path.unlink()
        path.symlink_to(mine)
    check(project)
    assert not mine.exists()
    file.unlink()
    mine.write_text("precious")
    file.symlink_to(mine)
    check(project)
    assert mine.read_text() == "precious"
    assert not file.is_symlink()


@posix
def test_folders_for_roots_that_are_links_are_not_entered(project: Path) -> None:
    (project / "amplint.toml").write_text('cache-dir = "cache"\n')
    check(project)
    (file,) = caches(project / "cache")
    file.parent.rename(project / "cache" / "real")
    file.parent.symlink_to("real")
    no_cache(project, "is a symbolic link", chosen=True)


@posix
@pytest.mark.parametrize("where", ["..", "/tmp/somewhere", "out/cache", ".", "a\\u0000b"])
def test_settings_place_the_cache_below_their_folder_only(project: Path, where: str) -> None:
    (project / "out").symlink_to("..")
    (project / "amplint.toml").write_text(f'cache-dir = "{where}"\n')
    done = amplint(".", cwd=project)
    (problem,) = problems(done)
    assert problem.startswith("amplint.toml:1: `cache-dir`: ")
    assert done.returncode == 2
