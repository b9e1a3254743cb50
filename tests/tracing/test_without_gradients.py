"""Values that are computed without gradients are followed where a step is run again, and the program's own are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import torch_amplint, torch_python

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
model, other = nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
total = torch.zeros(())
data = torch.ones(4, 3)
for step in range(3):
    x = data * (step + 1)
    factor = 1.0
    WORK
    loss = (model(x).square() * factor).mean()
    total += loss.detach()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(total, x, data, factor, torch.rand(1))
"""
FOUND = {
    "detached": ("factor = torch.log(model(x).detach() * 0)", "log"),
    "prepared data": ("x = x / (step - 1)", "div"),
    "a module without gradients": ("with torch.no_grad(): factor = torch.sqrt(-other(x).abs().sum(1))", "sqrt"),
    "a module in another mode": (
        "other.eval()\n    with torch.no_grad(): factor = other(x).abs().sum() / (step - 1)\n    other.train()", "div",
    ),
    "a list of values": ("with torch.no_grad(): factor = torch.stack([other(x).sum()] * 2).mul(0).log().sum()", "log"),
}  # fmt: skip
UNKNOWN = {
    "written to afterwards": "x = x / (step - 1); data.add_(0); x.add_(0)",
    "noise": "factor = torch.rand_like(x[:, :1]) * (float('nan') if step == 1 else 1.0)",
    "an alias that is written to": (
        "alias = data.data; alias.mul_(2.0 if step else 1.0); x = alias * (float('nan') if step == 1 else 1)"
    ),
}


def traced(folder: Path, work: str) -> dict[str, object]:
    """The first value of a script that is not finite; what the script prints is as without a trace."""
    path = folder / "train.py"
    path.write_text(SCRIPT.replace("WORK", work))
    alone = torch_python(path, cwd=folder)
    assert alone.returncode == 0, alone.stderr
    done = torch_amplint("trace", "--device", "cpu", "--output", "t.jsonl", "train.py", cwd=folder, timeout=300)
    assert done.stdout == alone.stdout, done.stderr
    run = json.loads((folder / "t.jsonl").read_text().splitlines()[-1])
    assert not run["not_again"]
    first: dict[str, object] = run["first"]
    return first


@pytest.mark.parametrize("case", FOUND)
def test_the_operation_is_named(case: str, tmp_path: Path) -> None:
    work, operation = FOUND[case]
    first = traced(tmp_path, work)
    assert first["operation"] == operation, first
    assert str(first["place"]).startswith("train.py:1"), first
    assert "already" not in str(first["why"])


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_cannot_be_made_again_is_data(case: str, tmp_path: Path) -> None:
    first = traced(tmp_path, UNKNOWN[case])
    assert str(first["place"]).startswith("train.py:1"), first
