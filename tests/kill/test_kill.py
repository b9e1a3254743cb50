"""A small sample of the campaign of kills."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .__main__ import scenes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals, limits and modes of POSIX")
NAMES = ("kills", "full disk", "limit of size", "read-only", "two runs", "edits", "damaged caches")


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_old_or_fixed_and_the_next_run_is_none_the_wiser(name: str, tmp_path: Path) -> None:
    every = scenes(tmp_path, files=12, count=5, seed=1)
    assert set(every) == set(NAMES)
    figures = every[name]()
    if "skipped" in figures:
        pytest.skip(str(figures["skipped"]))
    assert figures["files"]
