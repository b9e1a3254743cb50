"""Loops of a base class in another file, around methods that a class overrides: told where the other half of a hazard is."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes, only, project

from amplint.diagnostics import OUTSIDE

BASE = """
    import torch

    class Base:
        def __init__(self, model, loader):
            self.model, self.loader = model, loader
            self.optimizer = torch.optim.AdamW(model.parameters())
            self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 1e-3, total_steps=1000)
            self.scaler = None

        def fit(self, epochs):
            for _ in range(epochs):
                self.train_epoch()

        def train_epoch(self):
            for batch in self.loader:
                self.optimizer.zero_grad()
                self.run_iteration(batch)
                {act}

        def run_iteration(self, batch):
            self.backward(self.model(batch))
            {between}
            self.step()

        def backward(self, loss):
            loss.backward()

        def step(self):
            self.optimizer.step()
"""
HALF = """
    import torch
    from base import Base

    class Trainer(Base):
        def __init__(self, model, loader, amp):
            super().__init__(model, loader)
            self.scaler = torch.amp.GradScaler("cuda", enabled=amp)

        def backward(self, loss):
            self.scaler.scale(loss).backward()

        {more}
"""
STEP = """def step(self):
            self.scaler.step(self.optimizer)
            self.scaler.update()
"""
CLIP = "torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)"


@pytest.mark.parametrize(
    ("act", "between", "more", "code", "row", "there"),
    [
        ("self.scheduler.step()", "pass", STEP, "AMP107", 14, 19),
        ("pass", CLIP, STEP, "AMP101", 11, 23),
        ("pass", "print(self.model.weight.grad.norm())", STEP, "AMP102", 11, 23),
        ("pass", "pass", "", "AMP104", 11, 30),
    ],
)
def test_an_inherited_loop_and_an_overriding_method_are_one_hazard(
    tmp_path: Path, act: str, between: str, more: str, code: str, row: int, there: int
) -> None:
    root = project(tmp_path, base=BASE.format(act=act, between=between), train=HALF.format(more=more))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row, found.fix) == (code, row, None)
    assert "another file" in found.no_fix
    (place,) = found.related
    assert (place.message, place.path, place.range.start.row) == (OUTSIDE, str(root / "base.py"), there)
    assert codes(root, "base.py") == []


PLAIN = HALF.replace("backward(self, loss)", "prepare(self)").replace("self.scaler.scale(loss).backward()", "pass")
CLEARS = "self.optimizer.zero_grad()"
UNSCALED = "The backward pass of `loss` is not scaled, although `self.scaler` steps the optimizer"


@pytest.mark.parametrize(
    ("half", "between", "code", "there", "message"),
    [
        (PLAIN, "pass", "AMP103", 27, UNSCALED),
        (HALF, CLEARS, "AMP123", 23, "`self.optimizer.zero_grad()` clears the gradients before"),
    ],
)
def test_what_the_base_does_alone_is_told_at_the_method_that_relies_on_it(
    tmp_path: Path, half: str, between: str, code: str, there: int, message: str
) -> None:
    base = BASE.format(act="pass", between=between).replace("self.scaler = None", "self.epochs = 0")
    root = project(tmp_path, base=base, train=half.format(more=STEP))
    found = only(check(root, "train.py"))
    assert (found.code, found.fix) == (code, None)
    assert found.message.startswith(message)
    (place,) = [place for place in found.related if place.path == str(root / "base.py")]
    assert (place.message, place.range.start.row) == (OUTSIDE, there)
    assert codes(root, "base.py") == []


@pytest.mark.parametrize(
    ("act", "between", "more"),
    [
        ("pass", "pass", STEP),
        ("if self.took_step():\n                    self.scheduler.step()", "pass", STEP),
        (
            "if self.scaler.get_scale() >= scale:\n                    self.scheduler.step()",
            "scale = self.scaler.get_scale()",
            STEP,
        ),
        ("pass", f"if self.scaler is None:\n                {CLIP}", STEP),
        ("pass", f"self.scaler.unscale_(self.optimizer)\n            {CLIP}", STEP),
        ("self.scheduler.step()", CLIP, STEP + "\n        def fit(self, epochs):\n            pass\n\n"
         "        def train_epoch(self):\n            pass\n\n        def run_iteration(self, batch):\n            pass\n"),
    ],
)  # fmt: skip
def test_an_inherited_loop_that_does_rightly_or_is_overridden_is_silent(
    tmp_path: Path, act: str, between: str, more: str
) -> None:
    root = project(tmp_path, base=BASE.format(act=act, between=between), train=HALF.format(more=more))
    assert codes(root, "train.py") == []


def test_each_class_that_overrides_is_told_once(tmp_path: Path) -> None:
    """A class below it that overrides something else runs the same loop."""
    train = (
        HALF.format(more=STEP)
        + "\n    class Other(Trainer):\n        def fit(self, epochs):\n            self.train_epoch()\n"
    )
    root = project(tmp_path, base=BASE.format(act="self.scheduler.step()", between="pass"), train=train)
    assert codes(root, "train.py") == ["AMP107"]


LOOP = """
    class Base:
        def __init__(self, model, optimizer, loader, every):
            self.model, self.optimizer, self.loader, self.every = model, optimizer, loader, every

        def fit(self):
            for i, batch in enumerate(self.loader):
                self.train_step(i, batch)

        def train_step(self, i, batch):
            raise NotImplementedError
"""
STEPS = """
    import torch
    from base import Base

    class Trainer(Base):
        def __init__(self, *given):
            super().__init__(*given)
            self.scaler = torch.amp.GradScaler("cuda")

        def train_step(self, i, batch):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch).mean() / self.every
            self.scaler.scale(loss).backward()
            {amid}
            if (i + 1) % self.every == 0:
                {unscale}
                self.scaler.step(self.optimizer)
                {update}
                self.optimizer.zero_grad()
            {last}
"""
UNSCALE, UPDATE = f"self.scaler.unscale_(self.optimizer); {CLIP}", "self.scaler.update()"


@pytest.mark.parametrize(
    ("amid", "unscale", "update", "last", "found"),
    [
        ("pass", UNSCALE, UPDATE, "pass", []),
        ("pass", UNSCALE, "pass", "pass", ["AMP105"]),
        ("pass", UNSCALE, "pass", UPDATE, ["AMP108"]),
        (UNSCALE, "pass", UPDATE, "pass", ["AMP111"]),
    ],
)
def test_a_loop_that_speaks_of_nothing_but_its_step_is_followed(
    tmp_path: Path, amid: str, unscale: str, update: str, last: str, found: list[str]
) -> None:
    step = STEPS.format(amid=amid, unscale=unscale, update=update, last=last)
    assert codes(project(tmp_path, base=LOOP, train=step), "train.py") == found
