"""`amplint server` where it cannot be what an editor expects: one line says why, and the exit code is 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import amplint, problems


def test_without_pygls(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "pygls.py").write_text("raise ModuleNotFoundError(\"No module named 'pygls'\", name='pygls')\n")
    done = amplint("server", cwd=tmp_path, site=site)
    assert problems(done) == ["the server needs pygls: pip install 'amplint[lsp]'"]
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a.py"], "Got unexpected extra argument (a.py); see `amplint server -h`"),
        (["--torch-version", "new"], "Invalid value for '--torch-version': "),
        (["--select", "AMP999"], "--select: unknown rule `AMP999`"),
    ],
)
def test_arguments_that_are_none(tmp_path: Path, arguments: list[str], why: str) -> None:
    done = amplint("server", *arguments, cwd=tmp_path)
    assert problems(done)[0].startswith(why)
    assert (done.returncode, done.stdout) == (2, "")


def test_an_editor_that_says_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    done = amplint("server", cwd=tmp_path)  # standard input ends at once
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_an_editor_that_talks_nonsense(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    done = amplint("server", cwd=tmp_path, stdin=b"Content-Length: 3\r\n\r\n{{{Content-Length: 2\r\n\r\n[]")
    assert done.returncode == 1
