"""Slices of event graphs: what is left out of functions shows no hazard, and what is left shows the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from lowered import file_of

from amplint.hazards.entry_points import Entry
from amplint.model.event_graph import Function
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.explorer import Explorer
from amplint.model.exploration.slicing import sliced
from amplint.model.exploration.wanted_names import Inside, Wanted
from amplint.model.protocol.hazard import Hazard

FIXTURES = Path(__file__).parents[3] / "fixtures"
FLAGGED = sorted(FIXTURES.glob("amp1*/flagged_*.py"))[::12]
"""Some of the files with hazards of every kind."""

OPTIONS = """
save_dir, weights, cfg = Path(args.save_dir), args.weights, args.cfg
if isinstance(args.hyp, str):
    args.hyp = load(args.hyp)
if rank in {-1, 0}:
    loggers = make_loggers(save_dir, weights)
    if args.resume:
        weights, args.epochs = loggers.weights, loggers.epochs
classes = 1 if args.single_class else loggers.classes
names = ["item"] if args.single_class else loggers.names
model = make_model(cfg, classes, weights)
if args.sync_bn and rank != -1:
    model = convert(model)
"""

TRAIN = """
import torch
from torch.nn.utils import clip_grad_norm_

def train(args, batches, rank):
    scaler = torch.amp.GradScaler("cuda")
    {options}
    optimizer = make_optimizer(model, args)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(batch), batch)
        {report}
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def entries(code: str) -> tuple[Entry, ...]:
    return file_of(code).analysis.entries


def hazards(entry: Entry, flows: Flows) -> set[Hazard]:
    explorer = Explorer(flows, entry.objects, entry.nothing_scales, entry.nobody_unscales)
    explorer.run(entry.function)
    return set(explorer.hazards)


def work(code: str) -> int:
    (entry,) = (each for each in entries(code) if each.function.key.startswith("train@"))
    explorer = Explorer(Flows(entry.functions).sliced, entry.objects)
    explorer.run(entry.function)
    assert [hazard.kind.name for hazard in explorer.hazards] == ["CLIP_BEFORE_UNSCALE"]
    return explorer.work


def train(options: str = "", report: str = "") -> str:
    return TRAIN.format(options="\n    ".join(options.strip().splitlines()), report=report)


@pytest.mark.parametrize("path", FLAGGED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_slice_shows_what_the_whole_shows(path: Path) -> None:
    for entry in entries(path.read_text()):
        whole = Flows(entry.functions)
        assert hazards(entry, whole.sliced) == hazards(entry, whole)


def test_options_on_which_no_hazard_depends_cost_nothing() -> None:
    assert work(train(OPTIONS)) == work(train())


def test_what_a_report_rests_on_is_left() -> None:
    assert work(train(report="if args.verbose and len(batch) > 3:\n            shown = loss.item()")) > work(train())


@pytest.mark.parametrize(
    "between",
    [
        "loss = scaler.scale(loss)\nloss = combine(loss)",
        "try:\n    first = scaler.scale(loss)\n    loss = first\nexcept RuntimeError:\n    continue",
        "gradients = [p.grad for p in model.parameters()]\nloss = penalty(gradients)",
    ],
)
def test_values_that_calls_hand_on_are_left(between: str) -> None:
    body = between.replace("\n", "\n        ")
    code = train().replace("scaler.scale(loss).backward()", f"{body}\n        loss.backward()")
    for entry in entries(code):
        whole = Flows(entry.functions)
        assert hazards(entry, whole.sliced) == hazards(entry, whole)


def _looks(monkeypatch: pytest.MonkeyPatch, count: int) -> float:
    """How often each of some helpers is looked at for what it wants, if each calls the next, and the last one the first."""
    helpers = "".join(
        f"def helper{index}(model, batch):\n    if batch.part{index}:\n        scaler.scale(model(batch)).backward()\n"
        f"    helper{(index + 1) % count}(model, batch)\n\n"
        for index in range(count)
    )
    code = f'import torch\n\nscaler = torch.amp.GradScaler("cuda")\n\n{helpers}def train(model, batches, optimizer):\n'
    code += "    for batch in batches:\n        helper0(model, batch)\n        scaler.step(optimizer)\n"
    looked: list[Function] = []
    look = Wanted.whole

    def noted(self: Wanted, function: Function) -> Inside:
        looked.append(function)
        return look(self, function)

    monkeypatch.setattr(Wanted, "whole", noted)
    (entry,) = (each for each in entries(code) if each.function.key.startswith("train"))
    sliced(entry.functions, [entry.function.key])
    monkeypatch.undo()
    return len(looked) / count


def test_helpers_in_a_ring_are_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(monkeypatch, 60) <= 1.2 * _looks(monkeypatch, 15)
