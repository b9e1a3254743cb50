"""AMP114 where a class inherits from another file how its objects are saved, and steps through a scaler of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes, found_in, only, project

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


TEMPLATE = """
import torch

class Base:
    def fit(self):
        for epoch in range(10):
            self.run_epoch(epoch)
            self.keep("last.pt")

    def keep(self, path):
        torch.save({kept}, path)

    def snapshot(self):
        raise NotImplementedError
"""
HEIR = """
import torch
from base import Base

class Heir(Base):
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def run_epoch(self, epoch):
        for batch in self.loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch)
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def snapshot(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
"""


@pytest.mark.parametrize(
    ("kept", "lacks"),
    [
        ("self.snapshot()", True),
        ('{{**self.snapshot(), "scaler": self.scaler.state_dict()}}', False),
        ("self.model.state_dict()", False),
    ],
)
def test_a_base_saves_what_its_heirs_return(tmp_path: Path, kept: str, lacks: bool) -> None:
    root = project(tmp_path, base=TEMPLATE.format(kept=kept), heir=HEIR)
    assert ("heir.py:21 AMP114" in found_in(root)) is lacks


STEPPING = """
import torch

class Base:
    def fit(self):
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters())
        for epoch in range(10):
            for batch in self.loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.model(batch)
                self.optimizer.zero_grad()
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            self.evaluate(epoch)
"""
SAVING = """
import torch
from base import Base

class Heir(Base):
    def evaluate(self, epoch):
        states = {{"model": self.model.state_dict(), "optimizer": self.{optimizer}.state_dict(){more}}}
        torch.save(states, "last.pt")
"""


@pytest.mark.parametrize(
    ("optimizer", "more", "lacks"),
    [("optimizer", "", True), ("other", "", False), ("optimizer", ', "scaler": self.scaler.state_dict()', False)],
)
def test_an_heir_saves_what_its_base_steps(tmp_path: Path, optimizer: str, more: str, lacks: bool) -> None:
    root = project(tmp_path, base=STEPPING, heir=SAVING.format(optimizer=optimizer, more=more))
    assert ("heir.py:7 AMP114" in found_in(root)) is lacks


FILES = """
import torch

class Files:
    def save(self, net, optimizer{more}):
        torch.save({{"net": net.state_dict(), "opt": optimizer.state_dict(){kept}}}, "latest.pt")
"""
THROUGH = """
from files import Files

class Base:
    def __init__(self, net, opt):
        self.net, self.opt, self.files = net, opt, Files()

    def keep(self):
        self.files.save(net=self.net, optimizer=self.opt{given})
"""
STEPPER = """
import torch
from base import Base

class Heir(Base):
    def __init__(self, net, opt):
        super().__init__(net, opt)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.net(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
"""


@pytest.mark.parametrize("scaler", ["", "scaler"])
def test_a_base_saves_through_an_object_of_a_third_file(tmp_path: Path, scaler: str) -> None:
    files = FILES.format(more=", scaler" if scaler else "", kept=', "scaler": scaler.state_dict()' if scaler else "")
    through = THROUGH.format(given=", scaler=self.scaler" if scaler else "")
    root = project(tmp_path, files=files, base=through, heir=STEPPER)
    assert ("heir.py:14 AMP114" in found_in(root)) is not bool(scaler)
