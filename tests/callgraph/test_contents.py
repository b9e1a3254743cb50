"""What is kept of a file's content holds as long as the file does not change."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from amplint.callgraph.contents import content_of
from amplint.system import reading
from amplint.system.memory import Kept, Memory, remembering


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "losses.py"
    path.write_text("import torch\nloss = dice\n")
    os.utime(path, (1, 1))
    return path


def test_a_file_is_read_once_while_its_stamp_is_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_CLOCK_NS", 0)
    with remembering(Memory({Kept.CONTENTS: 1_000})):
        content = content_of(file)
        assert content_of(file) is content
        assert content.imports == [("torch", [])]
        assert content.holds(b"dice") and not content.matches(re.compile(rb"bce"))
        file.write_text("loss = bce\n")
        assert content_of(file).holds(b"bce") and content_of(file).imports == []
        reading.hold({os.fspath(file): b"import held"})
        try:
            assert content_of(file).imports == [("held", [])]
        finally:
            reading.hold({})
        file.unlink()
        assert content_of(file).data == b""


def test_a_stamp_that_is_young_is_not_believed(file: Path) -> None:
    with remembering(Memory({Kept.CONTENTS: 1_000})):
        assert content_of(file) is not content_of(file)  # it was changed just now, whatever its own time says


def test_without_a_memory_nothing_is_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_CLOCK_NS", 0)
    assert content_of(file) is not content_of(file)
