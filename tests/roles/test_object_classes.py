"""Of which class an object is that is handed over, or made where none is."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from lowered import file_of
from project import check, only, project

from amplint.syntax.access_paths import path_of

HEAD = """
class Saver:
    def save(self): torch.save(self)

class Other(Saver):
    pass

class Announced:
    def save(self): raise NotImplementedError

"""


def made_by(body: str) -> str:
    """A class one of whose methods makes what it keeps."""
    keeps = "def __init__(self, given): self.it = self.make(given)"
    return f"class T:\n    {keeps}\n    def make(self, given):\n        {body}\n    def f(self): use(self.it)\n"


def class_of(code: str) -> str:
    """The class of `it` in the call of `use(it)`; empty when that is not known."""
    file = file_of(HEAD + code)
    (call,) = (each for each in file.tree.find(cst.Call) if path_of(each.func) == "use")
    info = file.callees.objects.class_of(call.args[0].value)
    return info.name if info is not None else ""


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def f(it=None):\n    it = it or Saver()\n    use(it)\n", "Saver"),
        ("def f(it=None):\n    if it is None:\n        it = Saver()\n    use(it)\n", "Saver"),
        ("def f(given=None):\n    it = given if given is not None else Saver()\n    use(it)\n", "Saver"),
        ("def f(given=None):\n    it = given or Saver()\n    use(it)\n", "Saver"),
        ("def f(given):\n    it = given or Saver()\n    use(it)\n", ""),
        ("def f(it=None):\n    it = it or Saver()\n    use(it)\n\nf(Other())\n", ""),
        ("def f(it: Other): use(it)\n", "Other"),
        ("def f(it: Other | None): use(it)\n", "Other"),
        ("def f(it: Optional[Other]): use(it)\n", "Other"),
        ("def f(it: list[Other]): use(it)\n", ""),
        ("def f(it: Saver): use(it)\n", ""),
        ("def f(it: Announced): use(it)\n", ""),
        ("def f(it: Other): use(it)\n\nf(Saver())\n", "Saver"),
    ],
    ids=[
        "or", "made if None", "chosen", "or under another name", "always given", "another one is given", "annotated",
        "annotated as an option", "annotated with Optional", "elements", "may be a subclass", "left to subclasses",
        "given",
    ],
)  # fmt: skip
def test_an_object_that_is_handed_over(code: str, name: str) -> None:
    assert class_of(code) == name


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("it = Other()\n        return it", "Other"),
        ("it = Other()\n        return it.to(device)", "Other"),
        ("if given: return given\n        return Other()", ""),
        ("it = Other() if given else Saver()\n        return it", ""),
    ],
)
def test_an_object_that_a_method_makes(body: str, name: str) -> None:
    assert class_of(made_by(body)) == name


SAVER = """
import torch

class Saver:
    def save(self, path, model, optimizer):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
"""
TRAINER = """
import torch
from saver import Saver

class Trainer:
    def __init__(self, model, optimizer, {param}):
        self.model, self.optimizer = model, optimizer
        self.saver = {value}
        self.scaler = torch.amp.GradScaler("cuda")

    def run_epoch(self, loader, path):
        for data, target in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(self.model(data), target)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.saver.save(path, self.model, self.optimizer)
"""


@pytest.mark.parametrize(("param", "value"), [("saver=None", "saver or Saver()"), ("saver: Saver", "saver")])
def test_a_saver_of_another_file_is_handed_over(tmp_path: Path, param: str, value: str) -> None:
    root = project(tmp_path, saver=SAVER, train=TRAINER.format(param=param, value=value))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP114", 19)


def test_nothing_says_of_which_class_it_is(tmp_path: Path) -> None:
    root = project(tmp_path, saver=SAVER, train=TRAINER.format(param="saver", value="saver"))
    assert check(root, "train.py").diagnostics == ()
