"""Repairs that move statements, put in conditions, or give calls something else: what the path that is walked does not show."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from test_replay import outcome

from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, PARTLY, REFUTED

READ = """\
import torch


def train(model, loader, criterion, optimizer, writer, every=4):
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        if (i + 1) % every == 0:
            for name, p in model.named_parameters():
                writer.add_histogram(name, p.grad, i)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
STEPS = "        if (i + 1) % every == 0:\n"
BACKWARD = "        scaler.scale(loss).backward()\n"
UNSCALED = READ.replace(STEPS, STEPS + "            scaler.unscale_(optimizer)\n")


@pytest.mark.parametrize(
    ("repaired", "verdict"),
    [
        (UNSCALED, CONFIRMED),
        (UNSCALED.replace("            optimizer.zero_grad()", "        optimizer.zero_grad()"), REFUTED),
        (UNSCALED.replace(BACKWARD, "").replace(STEPS, STEPS + "    " + BACKWARD), REFUTED),
        (
            UNSCALED.replace("scaler.unscale_(optimizer)", "if i % 3:\n                scaler.unscale_(optimizer)"),
            REFUTED,
        ),
        (UNSCALED.replace("histogram(name, ", 'histogram("all", '), NOT_REPLAYABLE),
    ],
    ids=["right", "cleared behind the branch", "backward in the branch", "unscaled now and then", "another name"],
)
def test_a_reading_of_scaled_gradients(repaired: str, verdict: str) -> None:
    assert outcome("AMP102", READ, after=repaired).verdict == verdict


REGION = """\
import torch


def train(model, batches, optimizer, steps):
    for step in range(steps):
        x, y = batches(step)
        with torch.amp.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x, y)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
OUTSIDE = REGION.replace("            loss.backward()", "        loss.backward()")
BATCH, ENTER = "        x, y = batches(step)\n", '        with torch.amp.autocast("cuda", dtype=torch.bfloat16):\n'


def test_a_call_of_something_unknown_that_moves_into_a_region() -> None:
    moved = OUTSIDE.replace(BATCH, "").replace(ENTER, ENTER + "    " + BATCH)
    assert outcome("AMP201", REGION, after=OUTSIDE).verdict == CONFIRMED
    found = outcome("AMP201", REGION, after=moved)
    assert found.verdict == NOT_REPLAYABLE and "x, y = batches(step)" in found.reason


STEPPED = """\
import torch


def train(encoder, decoder, loader, criterion):
    optimizers = [torch.optim.Adam(encoder.parameters()), torch.optim.Adam(decoder.parameters())]
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(decoder(encoder(x)), y)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            optimizer.step()
        scaler.update()
        if float(loss) < 1e-3:
            break
"""
SCALED = STEPPED.replace("optimizer.step()", "scaler.step(optimizer)")


@pytest.mark.parametrize(
    ("repaired", "verdict"),
    [
        (SCALED, CONFIRMED),
        (SCALED.replace("decoder.parameters", "encoder.parameters"), NOT_REPLAYABLE),
        (SCALED.replace("float(loss) < 1e-3", "False"), NOT_REPLAYABLE),
    ],
    ids=["right", "the parameters of another model", "training does not end"],
)
def test_a_step_past_the_scaler(repaired: str, verdict: str) -> None:
    assert outcome("AMP104", STEPPED, after=repaired).verdict == verdict


AVERAGED = """\
import torch


def train(model, loader, criterion, optimizer, average=None):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        if average is not None:
            average.update_parameters(model)
"""
AVERAGE, STEP = "            average.update_parameters(model)\n", "        scaler.step(optimizer)\n"


@pytest.mark.parametrize(
    ("repaired", "verdict"),
    [
        (AVERAGED.replace(STEP, STEP + "        scaler.update()\n"), CONFIRMED),
        (AVERAGED.replace(AVERAGE, AVERAGE + "        scaler.update()\n"), CONFIRMED),
        (AVERAGED.replace(AVERAGE, AVERAGE + "            scaler.update()\n"), PARTLY),
        (AVERAGED.replace(STEP, "").replace(AVERAGE, f"    {STEP}{AVERAGE}        scaler.update()\n"), REFUTED),
    ],
    ids=["right", "right behind the average", "updated with the average alone", "stepped with the average alone"],
)
def test_an_update_where_something_else_is_asked(repaired: str, verdict: str) -> None:
    assert outcome("AMP105", AVERAGED, after=repaired).verdict == verdict


WARMED = """\
import torch


def train(model, loader, criterion, optimizer, scheduler, scaler, epoch, warmup, resumed):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if epoch < 100 + warmup and not resumed:
            scheduler.step()
"""
GATED = WARMED.replace(STEP, "        before = scaler.get_scale()\n" + STEP).replace(
    "            scheduler", "            if scaler.get_scale() >= before:\n                scheduler"
)


@pytest.mark.parametrize(
    ("repaired", "verdict"),
    [
        (GATED, CONFIRMED),
        (GATED.replace(" and not resumed", ""), REFUTED),
        (GATED.replace("epoch < 100 + warmup", "epoch < warmup"), NOT_REPLAYABLE),
        (GATED.replace("epoch < 100 + warmup", "100 + warmup > epoch"), NOT_REPLAYABLE),
    ],
    ids=["right", "a condition less", "another bound", "the same bound in other words"],
)
def test_a_schedule_that_advances_at_other_times(repaired: str, verdict: str) -> None:
    assert outcome("AMP107", WARMED, after=repaired).verdict == verdict
