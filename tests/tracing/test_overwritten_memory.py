"""What lay in memory before an operation wrote over it is nobody's operand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forked import torch_amplint

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[trace]'")

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores, self.head = nn.Linear(4, 4), nn.Linear(6, 1)

    def forward(self, x):
        scores = self.scores(x) * 1e30 * 1e30
        padded = torch.full((8, 6), torch.nan)  # as fresh memory may be
        padded[:, 1:5] = scores - scores
        padded[:, :1].copy_(padded[:, 4:5])
        padded[:, 5:] = padded[:, 1:2]
        return self.head(padded)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
net(torch.randn(8, 4)).square().mean().backward()
optimizer.step()
"""


@pytest.mark.parametrize("options", [(), ("--ops",)])
def test_a_cause_is_followed_through_memory_that_is_written_over(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = torch_amplint("trace", "--device", "cpu", "--output", "t.jsonl", *options, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[-1])["first"]
    assert (first["operation"], first["place"]) == ("mul", "train.py:13")
    assert first["why"].startswith("overflow")
