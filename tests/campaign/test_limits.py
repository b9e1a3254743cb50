"""The limits of the static witness: each holds for a program that shows it, and the rest of such a program is judged."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")

from .agreement import examine
from .limits import GUESSES, LIMITS
from .program import Program

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

_MADE = """import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
"""

EXAMPLES = {
    "whose_gradients": _MADE
    + """
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.SGD(model_d.parameters(), lr=0.01)
    for batch in batches:
        model(batch).mean().backward()
        scaler.scale(model_d(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.step(optimizer_d)
        scaler.update()
        optimizer.zero_grad()
        optimizer_d.zero_grad()
""",
    "nearest_pass": """import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.SGD(model_d.parameters(), lr=0.01)
    for batch in batches:
        optimizer.zero_grad()
        optimizer_d.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
            loss_d = model_d(batch).mean()
        loss.backward()
        loss_d.backward()
        optimizer.step()
""",
    "handler_that_goes_on": _MADE
    + """
    for step, batch in enumerate(batches):
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        try:
            if step in (3, 4):
                raise MemoryError
            scaler.step(optimizer)
            scaler.update()
        except MemoryError:
            pass
        optimizer.zero_grad()
""",
    "another_pass": _MADE
    + """
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.SGD(model_d.parameters(), lr=0.01)
    for batch in batches:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        loss_d = model_d(batch).mean()
        scaler.scale(loss_d).backward()
        scaler.step(optimizer_d)
        optimizer_d.zero_grad()
        scaler.update()
""",
    "never_stepped": _MADE
    + """
    for batch in batches:
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        optimizer.zero_grad(set_to_none=True)
""",
    "bad_batch": _MADE
    + """
    for batch in batches:
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if not torch.isfinite(loss):
            continue
        scaler.step(optimizer)
        scaler.update()
""",
    "counting": _MADE
    + """
    for step, batch in enumerate(batches):
        scaler.scale(model(batch).mean()).backward()
        if step % 2 == 0:
            scaler.step(optimizer)
        else:
            scaler.update()
            optimizer.zero_grad()
""",
    "never_skipped": _MADE
    + """
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).mean()
        if not torch.isfinite(loss):
            continue
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
""",
    "region_where_amp_is_off": _MADE.replace(", enabled=amp)", ") if amp else None")
    + """
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        if amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
""",
    "behind_a_finiteness_test": _MADE
    + """
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        if all(torch.isfinite(parameter.grad).all() for parameter in model.parameters()):
            optimizer.step()
        scaler.update()
""",
    "asked_something": _MADE
    + """
    for step, batch in enumerate(batches):
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if (step + 1) * batch.numel() > 0:
            scheduler.step()
""",
    "several_steps": _MADE
    + """
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
""",
    "growth_hides_a_skip": """import torch


def step_on(model, optimizer, scaler, scheduler, batch, scale_before):
    scaler.scale(model(batch).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() >= scale_before:
        scheduler.step()


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
    for batch in batches:
        scale_before = scaler.get_scale()
        step_on(model, optimizer, scaler, scheduler, batch, scale_before)
        step_on(model, optimizer, scaler, scheduler, batch, scale_before)
        optimizer.zero_grad()
""",
    "whose_schedule": """import torch


def train_one_epoch(model, optimizer, scaler, scheduler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.SGD(model_d.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer_d, 100)
    train_one_epoch(model, optimizer, scaler, scheduler, batches)
""",
    "scaler_of_other_settings": _MADE
    + """
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        if not amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()
""",
    "idle_scaler_by_a_flag": """import torch


def train_one_epoch(model, optimizer, scaler, amp, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=amp):
            loss = model(batch).float().mean()
        loss.backward()
        optimizer.step()
        scaler.update()


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    train_one_epoch(model, optimizer, scaler, amp, batches)
""",
    "blind_gate": _MADE
    + """
    for batch in batches:
        scale_before = scaler.get_scale()
        optimizer.zero_grad()
        scaler.scale(model(batch).mean()).backward()
        if scaler.get_scale() >= scale_before:
            scheduler.step()
        scaler.step(optimizer)
        scaler.update()
""",
}


@pytest.mark.parametrize("limit", [each.__name__ for each in (*LIMITS, *GUESSES)])
def test_every_limit_has_a_program_that_shows_it(limit: str) -> None:
    judged, _, _ = examine(Program(EXAMPLES[limit], ("amp",)))
    assert limit in judged.limits.values()
    assert judged.agrees


def test_a_limit_covers_nothing_else() -> None:
    wrong = EXAMPLES["blind_gate"].replace("if scaler.get_scale() >= scale_before:", "if amp:")
    judged, reading, _ = examine(Program(wrong, ("amp",)))
    assert not judged.limits
    assert {kind for kind, _ in reading.hazards} == {kind for kind, _ in judged.both} == {"scheduler-not-gated"}
