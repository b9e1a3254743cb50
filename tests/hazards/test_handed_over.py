"""What comes from other files: regions that are handed over, or made by two helpers, names that a star brings, schedules."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes, only, project

ENGINE = """
    def train(model, loader, optimizer, scaler, {parameter}):
        for x, y in loader:
            optimizer.zero_grad()
            with {entered}:
                loss = model(x, y)
                scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
MAIN = """
    import torch
    from functools import partial
    from engine import train

    def main(model, loader, optimizer):
        region = {made}
        train(model, loader, optimizer, torch.amp.GradScaler("cuda"), region)
"""
REGION = """
    import torch

    def region(enabled):
        return torch.autocast("cuda", dtype=torch.float16, enabled=enabled)
"""
LOOP = """
    import torch
    {imports}

    def train(model, loader, scaler, total):
        optimizer = torch.optim.AdamW(model.parameters())
        {before}
        for x in loader:
            optimizer.zero_grad()
            with {entered}:
                loss = model(x)
            scaler.scale(loss).backward()
            {clip}
            scaler.step(optimizer)
            scaler.update()
            {after}
"""
USUAL = {"imports": "", "before": "pass", "entered": 'torch.autocast("cuda")', "clip": "pass", "after": "pass"}


@pytest.mark.parametrize(
    ("parameter", "entered", "made"),
    [
        ("amp_autocast", "amp_autocast()", "torch.cuda.amp.autocast"),
        ("amp_autocast", "amp_autocast()", 'partial(torch.autocast, "cuda")'),
        ("amp_autocast=None", "amp_autocast()", 'partial(torch.autocast, "cuda", dtype=torch.float16)'),
        ("context", "context", 'torch.autocast("cuda")'),
    ],
)
def test_a_region_that_is_handed_over_is_told_at_the_call(
    tmp_path: Path, parameter: str, entered: str, made: str
) -> None:
    root = project(tmp_path, engine=ENGINE.format(parameter=parameter, entered=entered), main=MAIN.format(made=made))
    found = [each for each in check(root, "main.py").diagnostics if each.code == "AMP201"]
    assert [each.range.start.row for each in found] == [8]
    assert {(place.path, place.range.start.row) for place in found[0].related} >= {(str(root / "engine.py"), 7)}
    assert codes(root, "engine.py") == []


def test_what_is_no_region_is_silent(tmp_path: Path) -> None:
    engine = ENGINE.format(parameter="amp_autocast", entered="amp_autocast()")
    root = project(tmp_path, engine=engine, main=MAIN.format(made='partial(torch.autocast, "cuda", enabled=False)'))
    assert codes(root, "main.py") == codes(root, "engine.py") == []


@pytest.mark.parametrize("name", ["forward_context", "amp_ctx"])
def test_a_region_comes_through_a_helper_without_a_word_of_amp(tmp_path: Path, name: str) -> None:
    helpers = f"""
        from regions import region

        def {name}(settings):
            return region(settings.half)
    """
    engine = ENGINE.format(parameter="settings", entered=f"{name}(settings)")
    engine = f"\n    from helpers import {name}\n{engine}"
    root = project(tmp_path, regions=REGION, helpers=helpers, engine=engine)
    assert codes(root, "engine.py") == ["AMP201"]


def test_a_star_brings_what_another_file_imports(tmp_path: Path) -> None:
    common = """
        from torch.nn.utils import clip_grad_norm_
        from torch.amp import autocast, GradScaler
    """
    changed = {"imports": "from common import *", "clip": "clip_grad_norm_(model.parameters(), 1.0)"}
    root = project(tmp_path, common=common, train=LOOP.format(**{**USUAL, **changed, "entered": 'autocast("cuda")'}))
    assert codes(root, "train.py") == ["AMP101"]


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("return CosineAnnealingLR(optimizer, total)", "policy = make(optimizer, total)"),
        ("made = CosineAnnealingLR(optimizer, total)\n        return made", "policy = make(optimizer, total)"),
        ("return optimizer, CosineAnnealingLR(optimizer, total)", "optimizer, policy = make(optimizer, total)"),
        (
            "def rate(step):\n            return 1 - step / total\n        return LambdaLR(optimizer, rate)",
            "policy = make(optimizer, total)",
        ),
    ],
)
def test_a_schedule_of_a_factory_is_one_whatever_it_is_called(tmp_path: Path, body: str, before: str) -> None:
    rates = f"""
        from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR

        def make(optimizer, total):
            {body.replace(chr(10), chr(10) + "    ")}
    """
    changed = {"imports": "from rates import make", "before": before, "after": "policy.step()"}
    root = project(tmp_path, rates=rates, train=LOOP.format(**{**USUAL, **changed}))
    assert only(check(root, "train.py")).code == "AMP107"


def test_a_factory_of_something_else_makes_no_schedule(tmp_path: Path) -> None:
    rates = """
        from torch.optim.lr_scheduler import CosineAnnealingLR
        from torch.profiler import profile

        def make(optimizer, total):
            if total:
                return profile()
            return CosineAnnealingLR(optimizer, 100)
    """
    changed = {
        "imports": "from rates import make",
        "before": "policy = make(optimizer, total)",
        "after": "policy.step()",
    }
    root = project(tmp_path, rates=rates, train=LOOP.format(**{**USUAL, **changed}))
    assert codes(root, "train.py") == []


HELPER = """
    import torch

    class Precision:
        def __init__(self, scaler):
            self.scaler = scaler

        def scale_loss(self, loss):
            return self.scaler.scale(loss)

    def propagate(scaler, loss):
        loss = scaler.scale(loss)
        loss.backward()
        return loss

    def prepare(scaler, optimizer, model):
        scaler.unscale_(optimizer)
        return torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
ROUND = """
    import torch
    from helper import Precision, prepare, propagate

    def train(model, loader, meter):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        precision = Precision(scaler)
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(x)
            {backward}
            {before}
            scaler.step(optimizer)
            scaler.update()
            {after}
"""


@pytest.mark.parametrize(
    ("backward", "before", "after", "expected"),
    [
        ("loss = propagate(scaler, loss)", "pass", "print(loss.item())", ["AMP119"]),
        ("shown = propagate(scaler, loss)", "pass", "print(shown.item())", ["AMP119"]),
        ("shown = propagate(scaler, loss)", "pass", "print(loss.item())", []),
        ("loss = precision.scale_loss(loss); loss.backward()", "pass", "meter.update(loss.item())", ["AMP119"]),
        ("precision.scale_loss(loss).backward()", "pass", "meter.update(loss.item())", []),
        ("propagate(scaler, loss)", "if prepare(scaler, optimizer, model) > 9: continue", "pass", ["AMP120"]),
        (
            "propagate(scaler, loss)",
            "if prepare(scaler, optimizer, model) > 9: scaler.update(); continue",
            "pass",
            [],
        ),
    ],
)
def test_what_a_helper_scales_or_unscales_is_known(
    tmp_path: Path, backward: str, before: str, after: str, expected: list[str]
) -> None:
    root = project(tmp_path, helper=HELPER, train=ROUND.format(backward=backward, before=before, after=after))
    assert codes(root, "train.py") == expected
