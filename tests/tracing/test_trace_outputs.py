"""What a traced run leaves behind: the page in a real browser, a record for each rank, a block of a program."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import answer, assert_charts_fit_paper, assert_fits_a_phone
from checkout import ROOT
from forked import torch_amplint, torch_python
from program import amplint, environment, problems

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

from amplint.report.trace import text
from amplint.report.trace.page import render
from amplint.report.trace.timeline import timeline
from amplint.tracing.step_record import StepRecord, StepTotals
from amplint.tracing.trace_record import LostGradients, TraceRecord
from amplint.tracing.warnings import warnings_of

SCRIPT = """\
import random
import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Net(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3))
        self.cells, self.norm = nn.LSTM(16, 16, batch_first=True), nn.LayerNorm(16)

    def forward(self, x):
        self.calls += 1
        print("forward", self.calls, random.random())
        cells, _ = self.cells(self.body(x)[None])
        return self.norm(cells[0]).sum(1)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(STEPS):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = (net(torch.randn(6, 8)) - 1).square().mean()
    if step == 3:
        loss = (loss - loss).log() * BAD
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
print([float(one.detach().double().sum()).hex() for one in net.state_dict().values()], net.calls)
"""


def script(folder: Path, steps: int = 6, bad: int = 0) -> Path:
    path = folder / "train.py"
    text = SCRIPT.replace("STEPS", str(steps)).replace("BAD", str(bad))
    path.write_text(text if bad else text.replace("step == 3", "False"))
    return path


def test_a_step_that_is_run_again_leaves_no_trace(tmp_path: Path) -> None:
    path = script(tmp_path, bad=1)
    alone = torch_python(path, cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    done = torch_amplint("trace", "--device", "cpu", "--output", "t.jsonl", "train.py", cwd=tmp_path, timeout=300)
    assert done.stdout == alone.stdout
    run = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[-1])
    assert run["profile"]["step"] == 1, run["not_again"]
    assert (run["first"]["step"], run["first"]["operation"], run["first"]["place"]) == (4, "log", "train.py:31")
    assert {"LayerNorm", "LSTM"} <= {one["kind"] for one in run["profile"]["operations"]}
    assert any(one["target"] == "bfloat16" for one in run["profile"]["casts"])


def test_the_page_is_drawn_by_a_browser(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="pages need bokeh: pip install 'amplint[trace]'")
    script(tmp_path, bad=1)
    done = torch_amplint("trace", "--device", "cpu", "-q", "--html", "page.html", "train.py", cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert len(page) < 5_000_000
    assert not re.search(r"(?:src|href)=|url\(", re.sub(r"(?s)<script.*?</script>", "", page))
    # A key moves the chart.
    press = """(() => {
      const chart = page.querySelector('.chart'), range = view.Bokeh.documents[0].get_model_by_name('steps');
      chart.dispatchEvent(new KeyboardEvent('keydown', {key: '+'}));
      return `zoomed to ${range.start} ${range.end}, ${charts(page) > 2 ? 'drawn' : 'empty'}`;
    })()"""
    assert answer(page, press, tmp_path) == "zoomed to 1.75 5.25, drawn"
    assert answer(page, "page.body.textContent.includes('the logarithm of zero')", tmp_path) == "true"
    assert_fits_a_phone(page, tmp_path)
    assert_charts_fit_paper(page, tmp_path)


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        (StepTotals(9), ["No value that is not finite has reached the loss or the gradients."]),
        (
            StepTotals(9, skipped=1),
            [
                "No value that is not finite has reached the loss or the gradients, but for steps that the scaler skipped."
            ],
        ),
        (StepTotals(9, lost=2), []),
    ],
)
def test_that_all_was_finite_is_said_where_it_was(totals: StepTotals, said: list[str]) -> None:
    record = TraceRecord("train.py", "cpu", "2.13.0", totals=totals)
    assert [line for line in text.render(record) if line.startswith("No value")] == said


def test_a_loss_that_nothing_explains_is_told() -> None:
    steps = [StepRecord(1, "train.py:9", "optimizer#1", True, loss=loss) for loss in (1.0, math.inf)]
    lines = list(text.render(TraceRecord("train.py", "cpu", "2.13.0", steps=steps, totals=StepTotals(2))))
    assert "The loss of step 1 was not finite; what made it so was not seen." in lines
    assert not any(line.startswith("No value") for line in lines)


def test_a_chart_with_nothing_to_draw_is_left_out() -> None:
    pytest.importorskip("bokeh", reason="pages need bokeh: pip install 'amplint[trace]'")
    steps = [
        StepRecord(number, "train.py:9", "optimizer#1", False, scale=8.0, loss=math.nan, norm=math.inf)
        for number in (1, 2)
    ]
    drawn = timeline(TraceRecord("train.py", "cpu", "2.13.0", steps=steps, totals=StepTotals(2, skipped=2)))
    assert '"scale"' in drawn
    assert '"text":"loss"' not in drawn
    assert '"text":"norm of the gradients"' not in drawn


def test_one_step_is_one() -> None:
    steps = [StepRecord(1, "train.py:9", "optimizer#1", True, loss=1.0)]
    record = TraceRecord("train.py", "cpu", "2.13.0", steps=steps, totals=StepTotals(1))
    assert text.course_of(record) == "1 step, 0 skipped; loss 1"


def test_lost_gradients_are_told_by_layer() -> None:
    pytest.importorskip("bokeh", reason="pages need bokeh: pip install 'amplint[trace]'")
    lost = [LostGradients("Net.head", "train.py:9", 1.0), LostGradients("", "train.py:4", 0.25)]
    record = TraceRecord("train.py", "cuda", "2.13.0", lost=lost)
    shown = "".join(render(record))
    words = "<td class=words>"
    assert f"{words}Net.head</td>{words}train.py:9</td><td>100%</td>" in shown
    assert f"{words}outside of modules</td>{words}train.py:4</td><td>25%</td>" in shown
    assert warnings_of(record, ()) == [
        "100% of the gradients of `Net.head` are lost: float16 makes them zero. So are more than 20% of those of 1 other place."
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("is_together", [False, True], ids=["apart", "together"])
def test_a_terminal_has_a_live_line_that_gives_way(tmp_path: Path, is_together: bool) -> None:
    """The program's output is what it is without; on one terminal every line of it begins on an empty one."""
    import pty

    (tmp_path / "train.py").write_text(
        "import time\nimport torch\n\nmodel = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nscaler = torch.amp.GradScaler('cpu')\n"
        "for step in range(9):\n    scaler.scale(model(torch.ones(1, 2)).sum()).backward()\n    scaler.step(optimizer)\n"
        "    scaler.update()\n    time.sleep(0.15)\n    print('at', end=' ' if step % 4 else '\\n')\n"
    )
    ours, theirs = pty.openpty()
    command = (sys.executable, "-m", "amplint", "trace", "--device", "cpu", "--no-again", "train.py")
    output = theirs if is_together else subprocess.PIPE
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=output, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    out = process.communicate(timeout=100)[0]
    text = shown.decode().replace("\r\n", "\n")
    assert process.returncode == 0, text
    assert re.search(r"\r\x1b\[Kamplint trace: step \d, scale 65536, 0 skipped\r\x1b\[K", text)
    left = re.sub(r"\r\x1b\[K(?:amplint trace: step [^\r\n]*)?", "", text)
    printed = "at\nat at at at\nat at at at\n"
    if is_together:
        assert left.startswith(f"{printed}amplint trace: train.py on cpu")
    else:
        assert out.decode() == printed
        assert left.startswith("amplint trace: train.py on cpu")


def test_a_page_needs_its_library(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('ran')\n")
    (tmp_path / "bokeh.py").write_text("raise ImportError\n")
    done = amplint("trace", "--html", "no/folder/page.html", "--output", "no/folder/a", "a.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(problems(done)) == 1


def test_the_readme_shows_what_a_trace_says() -> None:
    """Up to numbers, which differ in their last digits from one processor to the next."""
    text = (ROOT / "README.md").read_text("utf-8")
    shown = text.partition("<!-- trace: begin -->\n```console\n")[2].partition("```")[0].splitlines()
    command = shown[0].removeprefix("$ amplint ").split()
    done = torch_amplint(*command, cwd=ROOT / "tests" / "tracing" / "programs", timeout=300)
    said = [re.sub(r"PyTorch \S+:|[\d.]+", "#", line) for line in done.stderr.splitlines()]
    assert said[: len(shown) - 1] == [re.sub(r"PyTorch \S+:|[\d.]+", "#", line) for line in shown[1:]]


def test_a_block_of_a_program_is_traced(tmp_path: Path) -> None:
    text = script(tmp_path, bad=1).read_text()
    head, loop = text.split("for step", 1)
    body, tail = f"for step{loop}".split("print([", 1)
    inside = "".join(f"    {line}\n" for line in body.splitlines())
    (tmp_path / "block.py").write_text(
        f"import amplint\n{head}with amplint.trace(net, html=None, output='b.jsonl', steps=5) as record:\n{inside}"
        "print('after', record.totals.tried, record.first.operation, record.stopped)\n"
    )
    done = torch_python("block.py", cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "after 5 log 5 steps were traced"
    assert "the logarithm of zero" in done.stderr
    assert (tmp_path / "b.jsonl").read_text().count("\n") == 6
