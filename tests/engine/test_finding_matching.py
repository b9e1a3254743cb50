"""Which finding of a changed file is which one of before."""

from __future__ import annotations

from pathlib import Path

from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings
from amplint.engine.finding_matching import placed_before
from amplint.source import Source

LOOP = """\
import torch
{top}
def train(model, loader, optimizer, scaler: torch.amp.GradScaler):
    for x in loader:
        {inside}scaler.scale(model(x)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def report_on(text: str) -> FileReport:
    return check_bytes("train.py", text.encode(), Settings(Path("/project")), Path("/project/train.py"))


def row_afterwards(before: str, after: str) -> int:
    """Where the line of the one finding of a text stands in another text."""
    old, new = (Source.from_bytes("train.py", text.encode()) for text in (before, after))
    (placed,) = placed_before(report_on(before).diagnostics, "train.py", old, new)
    assert placed.finding.code == "AMP101"
    return placed.row


def test_rows_end_where_python_ends_them() -> None:
    plain = LOOP.format(top="", inside="")
    for end in ("\f", "# \v", "# \u2028", "# \x85 \x1c"):
        ended = LOOP.format(top=end, inside="")
        assert row_afterwards(ended, plain) == row_afterwards(plain, ended) == 6
        assert row_afterwards(ended, LOOP.format(top=end, inside="x = x.cuda()\n        ")) == 7


def test_a_line_that_is_gone_has_no_row() -> None:
    plain = LOOP.format(top="", inside="")
    assert row_afterwards(plain, plain.replace("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "pass")) == 0
