"""Where there is no PyTorch, the commands that need it say so in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import amplint, problems


@pytest.mark.parametrize(("command", "work"), [("trace", "tracing"), ("profile", "profiling")])
def test_the_extra_that_brings_pytorch_is_named(tmp_path: Path, command: str, work: str) -> None:
    (tmp_path / "a.py").write_text("print('ran')\n")
    site = tmp_path / "site"
    site.mkdir()
    (site / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    done = amplint(command, "a.py", cwd=tmp_path, site=site)
    assert (done.returncode, done.stdout) == (2, "")
    assert problems(done) == [f"{work} needs PyTorch; install it with: pip install 'amplint[trace]'"]
