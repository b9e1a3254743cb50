"""The limits of rules that no hazard stands for: each holds for a program that shows it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the campaign runs programs with torch: pip install 'amplint[verify]'")
pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from . import plants  # noqa: F401  # each module files its plants
from .judging import must_hold
from .plant_limits import SILENT, TOLD
from .planting import Planted

_MADE = """import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
"""

EXAMPLES = {
    "region_handed_out": (
        "AMP403",
        """import torch


def precision():
    return torch.autocast("cuda", dtype=torch.bfloat16)


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        optimizer.zero_grad()
        with precision():  # AMP403
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
""",
    ),
    "region_off_for_good": (
        "AMP124",
        _MADE
        + """
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=False):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
""",
    ),
    "scaler_of_bfloat16": (
        "AMP114",
        """import io
"""
        + _MADE
        + """
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
            loss = model(batch).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save(optimizer.state_dict(), io.BytesIO())  # AMP114
""",
    ),
    "scaler_in_an_object": (
        "AMP115",
        """import torch


def worker(rank, loss_scaling):
    print(rank, loss_scaling)


class LossScaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")


def train(batches):
    loss_scaler = LossScaler()
    torch.multiprocessing.spawn(worker, args=(loss_scaler.scaler,), nprocs=2)  # AMP115
""",
    ),
    "update_elsewhere": (
        "AMP122",
        _MADE
        + """
    def advance():
        scaler.update()

    for batch in batches:
        scale_before = scaler.get_scale()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            loss = model(batch).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        advance()
        if scaler.get_scale() == scale_before:
            scheduler.step()
""",
    ),
    "region_with_a_flag": (
        "AMP202",
        _MADE
        + """
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16, enabled=False):
        predicted = [model(batch) for batch in batches]  # AMP202
""",
    ),
    "forward_in_a_function": (
        "AMP404",
        """import torch


@torch.autocast("cuda", dtype=torch.float16)
def compute_0(model, batch):
    return model(batch).float().abs().mean()


def train_one_epoch(model, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).float().abs().mean()
        loss.backward()
        loss = compute_0(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train(batches):
    model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 1))  # AMP404
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train_one_epoch(model, optimizer, batches)
""",
    ),
    "loss_handed_over": (
        "AMP124",
        """import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)

    def do_0(loss):
        scaler.scale(loss).backward()

    for batch in batches:
        loss = model(batch).mean()
        do_0(loss)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
    ),
    "named_result": (
        "AMP302",
        """import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        for batch in batches:
            out = model(batch)
            term = out / (out.abs().max(dim=-1, keepdim=True).values + 1e-8)  # AMP302
""",
    ),
    "name_that_says_little": (
        "AMP213",
        """import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    for batch in batches:
        with torch.amp.autocast("cuda", amp):  # AMP213
            loss = model(batch).mean()
        loss.backward()
""",
    ),
    "any_question": (
        "AMP307",
        """import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        if torch.isnan(loss):
            print("this batch will ruin the run")
        loss.backward()
        optimizer.step()
""",
    ),
    "backward_under_autocast": (
        "AMP208",
        """import torch


class Product(torch.autograd.Function):  # AMP208
    @staticmethod
    def forward(ctx, given, weight):
        ctx.save_for_backward(given, weight)
        return given @ weight

    @staticmethod
    def backward(ctx, grad):
        given, weight = ctx.saved_tensors
        return grad @ weight.t(), given.t() @ grad


def train(batches):
    model = torch.nn.Linear(2, 1)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = Product.apply(batch, model.weight.t()).float().mean()
            loss.backward()
""",
    ),
}


@pytest.mark.parametrize("limit", [each.__name__ for each in (*SILENT, *TOLD)])
def test_every_limit_has_a_program_that_shows_it(limit: str) -> None:
    code, text = EXAMPLES[limit]
    assert must_hold(Planted.read(text, code)).limit == limit


def test_a_region_chosen_by_a_flag_is_of_no_known_precision() -> None:
    text = (
        _MADE
        + """
    maybe_context = torch.autocast("cuda", dtype=torch.float16) if amp else contextlib.nullcontext()
    for batch in batches:
        optimizer.zero_grad()
        with maybe_context:
            loss = model(batch).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):  # AMP203
        predicted = [model(batch) for batch in batches]
"""
    )
    judged = must_hold(Planted.read(f"import contextlib\n{text}", "AMP203"))
    assert (judged.found, judged.shown, judged.limit) == (False, True, "region_with_a_flag")
    sure = text.replace(" if amp else contextlib.nullcontext()", "")
    assert must_hold(Planted.read(sure, "AMP203")).found


def test_a_limit_covers_nothing_else() -> None:
    code, text = EXAMPLES["any_question"]
    judged = must_hold(Planted.read(text.replace("if torch.isnan(loss):", "if loss > 100:"), code))
    assert (judged.found, judged.shown, judged.limit) == (True, True, "")
