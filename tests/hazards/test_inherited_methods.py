"""A method is explored once more for a class that inherits it and overrides what it calls, but for what `super()` leads to."""

from __future__ import annotations

from lowered import file_of

TRAINER = """
import torch

class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            self.step(batch)

    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""
OF_ITS_OWN = """
class Clipping{number}({base}):
    def step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
"""
LEADS_UP = """
class Adding{number}({base}):
    def step(self, batch):
        if self.adds_{number}:
            self.scaler.scale(self.model(batch).mean()).backward()
        super().step(batch)
"""


def heirs(text: str) -> list[str]:
    """The classes for which the methods that they inherit are explored once more."""
    return [entry.heir for entry in file_of(TRAINER + text).analysis.entries if entry.heir]


def test_what_calls_a_method_is_explored_with_that_of_the_class() -> None:
    text = OF_ITS_OWN.format(number=0, base="Trainer") + OF_ITS_OWN.format(number=1, base="Clipping0")
    assert heirs(text) == ["Clipping0", "Clipping1"]


def test_a_method_that_super_leads_to_is_not_the_one_that_leads_there() -> None:
    bases = ["Trainer", *(f"Adding{number}" for number in range(9))]
    text = "".join(LEADS_UP.format(number=number, base=base) for number, base in enumerate(bases))
    assert heirs(text) == []


def test_a_method_that_begins_anew_overrides_those_above_super() -> None:
    text = LEADS_UP.format(number=0, base="Trainer") + OF_ITS_OWN.format(number=0, base="Adding0")
    assert heirs(text) == ["Clipping0"]
