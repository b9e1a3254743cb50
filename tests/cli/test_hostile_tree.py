"""Trees that nobody vouches for: whatever lies in them under whatever name, a run ends soon and says what it passed over."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import forked_amplint
from program import AMPLINT, environment, problems

from amplint.system.reading import Unreadable, read_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes and devices")

FLAGGED = """import torch
from torch.nn.utils import clip_grad_norm_

scaler = torch.amp.GradScaler("cuda")


def train(model, loader, optimizer):
    for x, y in loader:
        scaler.scale(model(x, y)).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 2**30)


def _bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        here = os.getcwd()
        os.chdir(path.parent)  # the names of sockets are short
        try:
            unix.bind(path.name)
        finally:
            os.chdir(here)


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "endless": (_endless, "not a regular file"),
    "pipe": (lambda path: os.mkfifo(path), "not a regular file"),
    "socket": (_bound, "not a regular file"),
    "folder": (lambda path: path.mkdir(), "Is a directory"),
    "sparse": (_sparse, "larger than"),
}
LINES = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with one file in which there is something to find."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "flagged.py").write_text(FLAGGED)
    return folder


def look(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run that may not take long, and checks the file that is in order."""
    done = forked_amplint("--no-cache", *(arguments or (".",)), cwd=tree, timeout=20)
    assert [line for line in done.stdout.splitlines() if "AMP101" in line], done.stderr
    return done


@LINES
def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path, kind: str) -> None:
    make, message = KINDS[kind]
    make(tmp_path / "name")
    with pytest.raises(Unreadable, match=message):
        read_file(tmp_path / "name")


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "name").write_bytes(b"x" * 5000)
    assert read_file(tmp_path / "name", 5000) == b"x" * 5000
    with pytest.raises(Unreadable):
        read_file(tmp_path / "name", 4999)


def test_a_file_whose_size_is_not_known_beforehand() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("needs /proc")
    assert b"Name:" in read_file("/proc/self/status")
    with pytest.raises(Unreadable, match="larger"):
        read_file("/proc/self/status", 10)


@LINES
def test_sources(tree: Path, kind: str) -> None:
    make, message = KINDS[kind]
    make(tree / "other.py")
    done = look(tree, "flagged.py", "other.py")
    if kind == "folder":  # a folder is walked
        assert (done.returncode, problems(done)) == (1, [])
        return
    (problem,) = problems(done)
    assert problem.startswith(f"other.py: cannot be read: {message}")
    assert done.returncode == 2


@LINES
def test_sources_that_a_walk_meets(tree: Path, kind: str) -> None:
    KINDS[kind][0](tree / "other.py")
    done = look(tree)
    assert done.returncode == (2 if kind == "sparse" else 1)


@LINES
@pytest.mark.parametrize("name", ["pyproject.toml", "amplint.toml"])
def test_configuration(tree: Path, kind: str, name: str) -> None:
    make, message = KINDS[kind]
    (tree / "sub").mkdir()
    (tree / "sub" / "other.py").write_text(FLAGGED)
    make(tree / "sub" / name)
    done = look(tree)
    (problem,) = problems(done)
    assert problem.startswith(f"sub/{name}: cannot be read: {message}")
    assert done.returncode == 2
    assert "other.py" not in done.stdout


def test_configuration_that_is_nested_deeply_or_no_text(tree: Path) -> None:
    for name, data in {"deep": b"x = " + b"[" * 100_000, "bytes": b"select = '\xff'", "nul": b"\0"}.items():
        (tree / name).mkdir()
        (tree / name / "other.py").write_text(FLAGGED)
        (tree / name / "amplint.toml").write_bytes(data)
    done = look(tree)
    assert [line.split(":")[0] for line in problems(done)] == [
        f"{name}/amplint.toml" for name in ("bytes", "deep", "nul")
    ]
    assert done.returncode == 2


@LINES
def test_ignore_files(tree: Path, kind: str) -> None:
    make, message = KINDS[kind]
    make(tree / ".gitignore")
    done = look(tree)
    assert (done.returncode, problems(done)) == (1, [])
    (warning,) = (line for line in done.stderr.splitlines() if line.startswith("warning"))
    assert warning.startswith(f"warning: .gitignore: cannot be read: {message}")


def test_ignore_files_above_what_is_named(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / "sub").mkdir()
    (tree / "flagged.py").rename(tree / "sub" / "flagged.py")
    os.mkfifo(tree / ".gitignore")
    done = look(tree, "sub")
    assert "warning: .gitignore: cannot be read: not a regular file" in done.stderr


@LINES
def test_wrapper_files(tree: Path, kind: str) -> None:
    make, message = KINDS[kind]
    (tree / "sub").mkdir()
    (tree / "sub" / "other.py").write_text(FLAGGED)
    (tree / "sub" / "amplint.toml").write_text('[wrappers]\n"library" = "wrapper.py"\n')
    make(tree / "sub" / "wrapper.py")
    done = look(tree, "flagged.py", "sub/other.py")
    (problem,) = problems(done)
    if kind == "endless":  # the link leads out of the tree
        message = '"wrapper.py" does not lie below the folder of the settings'
    assert problem.startswith("sub/amplint.toml:2: `wrappers.library`: ") and message in problem
    assert done.returncode == 2


@LINES
def test_imported_modules(tree: Path, kind: str) -> None:
    (tree / "flagged.py").write_text(f"from other import helper\n{FLAGGED}\nhelper(scaler)\n")
    KINDS[kind][0](tree / "other.py")
    assert look(tree, "flagged.py").returncode == 1


def test_endless_input(tree: Path) -> None:
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [*AMPLINT, "-"], cwd=tree, env=environment(), stdin=zeros, capture_output=True, text=True, timeout=20
        )
    assert problems(done) == ["-: cannot be read: larger than 128 MiB"]
    assert (done.returncode, done.stdout) == (2, "")


# -- places outside ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["../outside.py", "link.py", "folder/outside.py", "{outside}"])
def test_wrappers_lie_below_the_settings(tree: Path, file: str) -> None:
    outside = tree.parent / "outside.py"
    outside.write_text("secret = 1\n")
    (tree / "link.py").symlink_to(outside)
    (tree / "folder").symlink_to(tree.parent)
    (tree / "sub").mkdir()
    file = file.format(outside=outside)
    (tree / "amplint.toml").write_text(f'[wrappers]\n"library" = "{file}"\n')
    done = forked_amplint("--no-cache", "flagged.py", cwd=tree)
    assert problems(done) == [
        f'amplint.toml:2: `wrappers.library`: "{file}" does not lie below the folder of the settings'
    ]
    assert done.returncode == 2


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("link", ["helper.py", "pkg", "src"])
def test_imports_are_not_followed_out_of_the_project(tree: Path, inside: bool, link: str) -> None:
    target = tree / "far" if inside else tree.parent
    name = "pkg.helper" if link == "pkg" else "helper"
    target.mkdir(exist_ok=True)
    (target / "helper.py").write_text(
        "from torch.nn.utils import clip_grad_norm_\n\ndef clip(model):\n    clip_grad_norm_(model.parameters(), 1.0)\n"
    )
    text = FLAGGED.replace("from torch.nn.utils import clip_grad_norm_", f"from {name} import clip")
    (tree / "flagged.py").write_text(text.replace("clip_grad_norm_(model.parameters(), 1.0)", "clip(model)"))
    (tree / link).symlink_to(target / "helper.py" if link == "helper.py" else target)
    done = forked_amplint("--no-cache", "flagged.py", cwd=tree)
    assert ("AMP101" in done.stdout) == inside, done.stdout


# -- long lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit",
    ["# noqa ", "# noqa: A1, ", "# noqa: A1 A", "# amplint: ignore[", "# amplint", "#   ", " ", "a,", "# noqa:AMP101 ",
     "scaler ", "# amplint: ignore[AMP101]\n", "# noqa: AMP101\n"],
)  # fmt: skip
def test_no_line_takes_long(tree: Path, unit: str) -> None:
    size = 2**20 if "\n" not in unit else 2**17
    (tree / "flagged.py").write_text(f"{FLAGGED}# {unit * (size // len(unit))}\n")
    began = os.times()
    assert look(tree, "flagged.py").returncode == 1
    spent = os.times()
    assert spent.children_user - began.children_user < 15
