"""What a run writes, and where: fixes and reports, in real processes, with whatever may come between."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import demo_pack
import meddling_pack
import pytest
from demo_run import SAFE
from forked import forked_amplint
from program import AMPLINT, amplint, environment, problems

posix = pytest.mark.skipif(os.name != "posix", reason="links and modes of POSIX")
GOOD = "good()\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo rules are installed, and those that meddle."""
    return meddling_pack.install(demo_pack.install(tmp_path_factory.mktemp("site")))


# -- names and links --------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("given", [".", "out.py"])
def test_a_link_that_leads_out_is_linted_and_not_fixed(given: str, tmp_path: Path, site: Path) -> None:
    (tmp_path / "outside.py").write_text(SAFE)
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "out.py").symlink_to("../outside.py")
    done = forked_amplint(given, cwd=folder, site=site)
    assert (done.returncode, problems(done)) == (1, [])
    assert done.stdout == "out.py:1:1: DEM101 `demo_safe` is called [*]\n"
    for option in ("--fix", "--diff"):
        done = forked_amplint(given, option, cwd=folder, site=site)
        assert problems(done) == ["out.py: is a link that leads out of the given paths; not fixed"]
        assert done.returncode == 2
    assert (tmp_path / "outside.py").read_text() == SAFE and (folder / "out.py").is_symlink()


@posix
def test_a_file_with_many_names_is_counted_and_fixed_once(tmp_path: Path, site: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file.py").write_text(SAFE)
    (tmp_path / "a.py").symlink_to("sub/file.py")
    os.link(tmp_path / "sub" / "file.py", tmp_path / "z.py")
    os.link(tmp_path / "sub" / "file.py", tmp_path / "not found here")
    done = forked_amplint(".", "a.py", "sub/../sub/file.py", "--fix", cwd=tmp_path, site=site)
    assert (done.returncode, problems(done)) == (0, [])
    assert done.stderr == "Fixed 1 finding in 1 file\nNo findings remain in 1 file\n"
    assert {(tmp_path / name).read_text() for name in ("a.py", "z.py", "sub/file.py")} == {GOOD}
    assert (tmp_path / "a.py").is_symlink() and (tmp_path / "z.py").samefile(tmp_path / "sub" / "file.py")
    assert (tmp_path / "not found here").read_text() == SAFE
    assert forked_amplint(".", cwd=tmp_path, site=site).stderr == "No findings in 1 file\n"


# -- others at work ---------------------------------------------------------------------------------------------------


def meddled(folder: Path, site: Path, *plan: str) -> subprocess.CompletedProcess[str]:
    """Fix `a.py`, which says `meddle()`, while each check of it does what the plan says; the first check finds it."""
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text("meddle()\n")
    (folder / "plan").mkdir()
    for number, content in enumerate(["", *plan]):
        (folder / "plan" / f"{number:03}").write_text(content)
    done = forked_amplint("--fix", "a.py", "--no-cache", cwd=folder, site=site)
    shutil.rmtree(folder / "plan", ignore_errors=True)
    assert not folder.exists() or {path.name for path in folder.iterdir()} <= {"a.py"}
    return done


def test_what_another_run_fixed_is_no_error(tmp_path: Path, site: Path) -> None:
    done = meddled(tmp_path, site, "good()\n")
    assert (done.returncode, done.stderr) == (0, "No findings in 1 file\n")
    assert (tmp_path / "a.py").read_text() == GOOD


def test_what_somebody_wrote_meanwhile_is_kept_and_fixed(tmp_path: Path, site: Path) -> None:
    done = meddled(tmp_path, site, "mine = 1\nmeddle()\n")
    assert (done.returncode, done.stderr) == (0, "Fixed 1 finding in 1 file\nNo findings remain in 1 file\n")
    assert (tmp_path / "a.py").read_text() == "mine = 1\ngood()\n"


def test_a_file_that_never_rests_is_left_alone(tmp_path: Path, site: Path) -> None:
    done = meddled(tmp_path, site, *(f"mine = {number}\nmeddle()\n" for number in range(40)))
    assert (done.returncode, problems(done)) == (2, ["a.py: is changed again and again by another program; not fixed"])
    assert (tmp_path / "a.py").read_text().startswith("mine = ")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("unlink", "cannot be written: No such file or directory"),
        pytest.param("fifo", "cannot be written: not a regular file", marks=posix),
        pytest.param("no folder", "cannot be written: No such file or directory", marks=posix),
    ],
)
def test_a_file_that_is_gone_is_one_line(plan: str, said: str, tmp_path: Path, site: Path) -> None:
    done = meddled(tmp_path / "gone", site, plan)
    assert (done.returncode, problems(done)) == (2, [f"a.py: {said}"])


# -- reports ------------------------------------------------------------------------------------------------------------


def test_a_report_replaces_the_old_one(tmp_path: Path, site: Path) -> None:
    (tmp_path / "a.py").write_text(SAFE)
    report = tmp_path / "report.txt"
    report.write_text("old")
    report.chmod(0o640)
    (tmp_path / ".amplint-0123456789abcdef.tmp").write_text("half")
    assert forked_amplint("a.py", "--no-cache", "-o", "report.txt", cwd=tmp_path, site=site).returncode == 1
    assert report.read_text() == "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
    assert report.stat().st_mode & 0o777 == 0o640 or os.name != "posix"
    assert {path.name for path in tmp_path.iterdir()} == {"a.py", "report.txt"}


@posix
def test_an_old_report_outlives_a_disk_that_is_full(tmp_path: Path, site: Path) -> None:
    import resource

    (tmp_path / "a.py").write_text(SAFE * 200)
    (tmp_path / "report.txt").write_text("old")

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    command = [*AMPLINT, "a.py", "--no-cache", "-o", "report.txt"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(site), capture_output=True, text=True, preexec_fn=no_room
    )
    assert (done.returncode, problems(done)) == (2, ["report.txt: cannot be written: File too large"])
    assert (tmp_path / "report.txt").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.py", "report.txt"}


def test_a_report_takes_the_place_of_no_code(tmp_path: Path, site: Path) -> None:
    (tmp_path / "a.py").write_text(SAFE)
    done = forked_amplint("-o", "./a.py", cwd=tmp_path, site=site)
    assert done.returncode == 2
    assert problems(done)[0].startswith("`--output-file` would overwrite `a.py`, which is checked")
    assert (tmp_path / "a.py").read_text() == SAFE


@posix
def test_a_report_goes_into_pipes_and_devices_as_it_comes(tmp_path: Path, site: Path) -> None:
    (tmp_path / "a.py").write_text(SAFE)
    line = "a.py:1:1: DEM101 `demo_safe` is called [*]\n"
    assert amplint("a.py", "-o", "/dev/stdout", cwd=tmp_path, site=site).stdout == line
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as cat:
        assert amplint("a.py", "-o", "pipe", cwd=tmp_path, site=site).returncode == 1
        assert cat.communicate(timeout=60)[0] == line
    if os.path.exists("/dev/full"):
        done = amplint("a.py", "-o", "/dev/full", cwd=tmp_path, site=site)
        assert problems(done) == ["/dev/full: cannot be written: No space left on device"]


@posix
def test_a_report_goes_through_no_link_out_of_its_folder(tmp_path: Path, site: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.py").write_text(SAFE)
    (tmp_path / "mine").write_text("mine")
    (folder / "out").symlink_to("../mine")
    (folder / "nowhere").symlink_to("../absent")
    (folder / "inside").symlink_to("report.txt")
    for name in ("out", "nowhere"):
        done = forked_amplint("a.py", "-o", name, cwd=folder, site=site)
        assert problems(done) == [f"{name}: cannot be written: it is a link that leads out of its folder"]
        assert done.returncode == 2
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "absent").exists()
    assert forked_amplint("a.py", "-o", "inside", cwd=folder, site=site).returncode == 1
    assert (folder / "inside").is_symlink() and (folder / "report.txt").read_text().startswith("a.py:1:1")
