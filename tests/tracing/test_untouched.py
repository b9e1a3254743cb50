"""A traced program meets what `python` would have given it: its path, its modules, its warnings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from program import amplint

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

SCRIPT = """\
import inspect, os, pickle, sys, warnings
print(__file__, __name__, __spec__, __package__, sys.argv, os.path.exists(__file__))
import torch
from torch import nn

class Kept:
    pass

def warned():
    warnings.warn("of its own", stacklevel=2)

pickle.loads(pickle.dumps(Kept()))
os.makedirs("elsewhere")
os.chdir("elsewhere")
print(os.path.exists(__file__), inspect.getsource(Kept))
model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1))
model(torch.ones(1, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
scheduler.step()
for step in range(2):
    model(torch.ones(1, 3)).var(0).sum().backward()
    optimizer.step()
with warnings.catch_warnings(record=True) as kept:
    warnings.simplefilter("always")
    torch.ones(1).std()
    warned()
print([(os.path.basename(one.filename), one.lineno) for one in kept])
raise ValueError("in two\\nlines")
"""


def test_a_program_cannot_tell_that_it_is_traced(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    alone = subprocess.run([sys.executable, "train.py", "x"], cwd=tmp_path, capture_output=True, text=True)
    (tmp_path / "elsewhere").rmdir()
    assert "train.py:20: UserWarning" in alone.stderr
    assert "train.py:22: UserWarning" in alone.stderr
    command = ("trace", "--device", "cpu", "--quiet", "--output", "t.jsonl", "train.py", "x")
    done = amplint(*command, cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (1, alone.stdout, alone.stderr)


def test_the_report_names_files_from_where_it_began(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = amplint("trace", "--device", "cpu", "--html", "page.html", "train.py", cwd=tmp_path, timeout=300)
    report = done.stderr.partition("amplint trace: ")[2].splitlines()
    assert report[0].endswith(": ValueError: in two")
    assert any(line.startswith("  train.py:22: `var`: ") for line in report), report
    assert "<span class=here>   22  " in (tmp_path / "page.html").read_text()
