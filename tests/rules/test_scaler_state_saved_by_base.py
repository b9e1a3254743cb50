"""AMP114 where a class inherits from another file how its objects are saved, and steps through a scaler of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes, only, project

BASE = """
import torch

class Base:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())

    def fit(self, loader, bar):
        for batch in loader:
            self.train_on_batch(batch)
            bar.update(1)
        self.save("last.pth")

    def train_on_batch(self, batch):
        raise NotImplementedError

    {saving}
"""
SAVE = """def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)
"""
GATHERED = """def save(self, path):
        torch.save(self.gathered(), path)

    def gathered(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
"""
TRAIN = """
import torch
from base import Base

class Trainer(Base):
    def __init__(self, model):
        super().__init__(model)
        self.scaler = torch.amp.GradScaler("cuda")

    def train_on_batch(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    {more}
"""


LISTED = """
import torch

class Base:
    def __init__(self, model):
        self.model = model
        self.optimizers = []

    def save(self, path, epoch):
        state = {{"epoch": epoch, "optimizers": []}}
        for each in self.{through}:
            state["optimizers"].append(each.state_dict())
        torch.save(state, path)
"""
LISTING = """
import torch
from base import Base

class Trainer(Base):
    def set_up(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        {listing}
        self.scaler = torch.amp.GradScaler("cuda")

    def train_on_batch(self, batch):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""


@pytest.mark.parametrize(
    ("through", "listing", "expected"),
    [
        ("optimizers", "self.optimizers.append(self.optimizer)", ["AMP114"]),
        ("optimizers", "self.optimizers += [self.optimizer]", ["AMP114"]),
        ("optimizers", "self.optimizers = [self.optimizer]", ["AMP114"]),
        ("optimizers", "self.networks.append(self.optimizer)", []),
        ("networks", "self.optimizers.append(self.optimizer)", []),
        ("optimizers", "self.optimizers.append(self.model)", []),
    ],
)
def test_a_base_class_goes_through_the_list_that_the_optimizer_is_put_into(
    tmp_path: Path, through: str, listing: str, expected: list[str]
) -> None:
    root = project(tmp_path, base=LISTED.format(through=through), train=LISTING.format(listing=listing))
    assert codes(root, "train.py") == expected
    assert codes(root, "base.py") == []


@pytest.mark.parametrize(("saving", "row"), [(SAVE, 18), (GATHERED, 21)])
def test_a_base_class_saves_what_it_knows_of(tmp_path: Path, saving: str, row: int) -> None:
    root = project(tmp_path, base=BASE.format(saving=saving), train=TRAIN.format(more=""))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row, found.no_fix) == (
        "AMP114",
        15,
        "a part of the defect is in another file",
    )
    (place,) = found.related
    assert (place.path, place.range.start.row) == (str(root / "base.py"), row)
    assert codes(root, "base.py") == []


def test_it_is_told_once(tmp_path: Path) -> None:
    """A call of the inherited method in the file of the class says it all."""
    more = "def finish(self):\n        self.save('final.pth')\n"
    root = project(tmp_path, base=BASE.format(saving=SAVE), train=TRAIN.format(more=more))
    assert codes(root, "train.py") == ["AMP114"]


@pytest.mark.parametrize(
    ("saving", "more"),
    [
        (SAVE, "def save(self, path):\n        torch.save(self.model.state_dict(), path)\n"),
        (SAVE, "def save(self, path):\n        raise NotImplementedError\n"),
        (SAVE, "def save_scaler(self):\n        torch.save(self.scaler.state_dict(), 'scaler.pth')\n"),
        ("def save(self, path):\n        torch.save(self.model.state_dict(), path)\n", ""),
        (GATHERED, "def gathered(self):\n        return {'model': self.model.state_dict()}\n"),
        (
            GATHERED.replace("self.gathered()", "{**self.gathered(), **self.extra()}"),
            "def extra(self):\n        return {'more': 1}\n",
        ),
        (GATHERED + "\n    def load(self, state, scaler=None):\n        return {'scaler': scaler}\n", ""),
        ("def gathered(self):\n        return {'optimizer': self.optimizer.state_dict()}\n", ""),
    ],
)
def test_another_method_may_save_the_scaler_or_nothing_is_saved(tmp_path: Path, saving: str, more: str) -> None:
    root = project(tmp_path, base=BASE.format(saving=saving), train=TRAIN.format(more=more))
    assert codes(root, "train.py") == []


def test_a_base_class_that_steps_through_the_scaler_itself_tells_of_its_checkpoint(tmp_path: Path) -> None:
    """A subclass with another iteration of its own says nothing of the same checkpoint."""
    base = TRAIN.replace("from base import Base", "").replace("class Trainer(Base)", "class Base").format(more=SAVE)
    base = base.replace("super().__init__(model)", "self.optimizer = torch.optim.AdamW(model.parameters())")
    plain = base.replace("        self.scaler.step(self.optimizer)\n", "")
    again = TRAIN.replace(
        "        super().__init__(model)\n", "        super().__init__(model)\n        self.turns = 0\n"
    )
    other = again.replace('        self.scaler = torch.amp.GradScaler("cuda")\n', "").format(more="")
    assert codes(project(tmp_path / "both", base=base, train=other), "train.py") == []
    assert codes(project(tmp_path / "both", base=base, train=other), "base.py") == ["AMP114"]
    assert codes(project(tmp_path / "one", base=plain, train=other), "train.py") == ["AMP114"]
