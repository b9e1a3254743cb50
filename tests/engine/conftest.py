"""Fixtures of the tests of the cache."""

from __future__ import annotations

import os
from pathlib import Path

import misbehaving_pack
import pytest

from amplint.engine import cache as cache_module

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe stamps at once: file times are fine-grained here, and no test should wait for two seconds."""
    monkeypatch.setattr(cache_module, "_CLOCK_NS", 0)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """More files than are read without asking the cache; the rules leave traces, so that one sees whether they ran."""
    site = misbehaving_pack.install(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.amplint]\n")
    for number in range(20):
        (folder / f"file{number}.py").write_text("flags_here\n" if number % 2 else "x = 1\n")
    return folder
