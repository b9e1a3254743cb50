"""Parts of a model that tables choose from, that methods build, and that the model gets by their names as texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

HEADS = """
    import torch
    from torch import nn

    class {base}:
        def get_loss(self):
            return self.part_loss(self.scores)

        def part_loss(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()

    class Single({base}, nn.Module):
        def forward(self, x, weights):
            self.scores = x @ weights
            return self.scores

    class Multiple(Single):
        pass
"""
DETECTOR = """
    import heads
    from torch import nn

    TABLE = {{"single": heads.Single, "multiple": heads.Multiple}}

    class Template(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config
            self.build()

        def build(self):
            for part in ["head"]:
                module, _ = {build}
                {setting}

        def build_head(self, config):
            made = TABLE[config.name](config)
            return made, config

    class Detector(Template):
        def forward(self, x, weights):
            self.head(x, weights)
            return self.{part}.get_loss()
"""
TRAIN = """
    import torch
    from detector import Detector

    def train(loader, optimizer, scaler, config):
        net = Detector(config).cuda()
        for x, weights in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net(x, weights)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
BY_NAME = 'getattr(self, "build_%s" % part)(self.config)'
SET = "self.add_module(part, module)"


@pytest.mark.parametrize(
    ("build", "setting", "part", "is_found"),
    [
        (BY_NAME, SET, "head", True),
        ('getattr(self, f"build_{part}")(self.config)', SET, "head", True),
        ('getattr(self, "build_" + part)(self.config)', "setattr(self, part, module)", "head", True),
        ("self.build_head(self.config)", 'self.add_module("head", module)', "head", True),
        ("self.build_head(self.config)", "self.head = module", "head", True),
        ('getattr(self, "make_%s" % part)(self.config)', SET, "head", False),
        ('getattr(self, "build_%s" % self.kind)(self.config)', SET, "head", False),
        ("None, None", SET, "head", False),
        (BY_NAME, "other.add_module(part, module)", "head", False),
        (BY_NAME, SET, "tail", False),
    ],
)
def test_a_part_of_a_model_is_entered(tmp_path: Path, build: str, setting: str, part: str, is_found: bool) -> None:
    detector = DETECTOR.format(build=build, setting=setting, part=part)
    root = project(tmp_path, heads=HEADS.format(base="Head"), detector=detector, train=TRAIN)
    assert found_in(root, select=("AMP305",)) == ({"heads.py:10 AMP305"} if is_found else set())


def test_classes_in_a_package_that_a_table_of_the_package_chooses_from_are_reached(tmp_path: Path) -> None:
    detector = DETECTOR.format(build=BY_NAME, setting=SET, part="head").replace(
        "import heads\n", "from . import heads\n"
    )
    root = project(tmp_path, train=TRAIN.replace("from detector", "from models"))
    models = root / "models"
    (models / "heads").mkdir(parents=True)
    project(models, detector=detector)
    project(models / "heads", single=HEADS.format(base="Head"))
    (models / "__init__.py").write_text("from .detector import Detector\n")
    (models / "heads" / "__init__.py").write_text("from .single import Single, Multiple\n")
    assert found_in(root, select=("AMP305",)) == {"models/heads/single.py:10 AMP305"}


BASE = """
    import torch

    class Head(torch.nn.Module):
        def get_loss(self):
            return self.part_loss(self.scores)

        def part_loss(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()
"""
HEIR = """
    from base import Head

    class Single(Head):
        def forward(self, x, weights):
            self.scores = x @ weights
            return self.get_loss()
"""
OVERRIDES = """
        def part_loss(self, scores):
            return scores.float().mean()
"""


@pytest.mark.parametrize(
    ("heir", "is_found"),
    [
        (HEIR, True),
        (HEIR + OVERRIDES, False),
        (HEIR + OVERRIDES.replace("part_loss", "other"), True),
        (HEIR + "\n        part_loss = torch.nn.BCEWithLogitsLoss()\n", False),
        (HEIR.replace("self.scores", "self.part_loss = other\n            self.scores", 1), False),
        (HEIR.replace("self.get_loss()", "self.scores.float().mean()"), False),
        (HEIR.replace("self.get_loss()", "super().get_loss()"), True),
        (HEIR.replace("self.get_loss()", "super().get_loss()") + OVERRIDES, False),
        (HEIR.replace("self.get_loss()", "super(Single, self).get_loss()") + OVERRIDES.replace("part_", "get_"), True),
        (HEIR.replace("self.get_loss()", "super().forward(x)"), False),
    ],
)
def test_a_method_that_a_class_of_another_file_passes_on_is_entered(tmp_path: Path, heir: str, is_found: bool) -> None:
    train = TRAIN.replace("from detector import Detector", "from heir import Single").replace("Detector", "Single")
    root = project(tmp_path, base=BASE, heir=heir, train=train)
    assert found_in(root, select=("AMP305",)) == ({"base.py:9 AMP305"} if is_found else set())


def test_what_an_attribute_of_an_object_holds_is_called_where_its_class_has_no_such_method(tmp_path: Path) -> None:
    losses = HEADS.format(base="Head")
    model = """
        from losses import Single

        class Model:
            def __init__(self):
                self.criterion = Single()

            def method(self, x):
                return x
    """
    trainer = """
        import torch

        class Trainer:
            def __init__(self, model):
                self.model = model

            def step(self, scaler, optimizer, x, weights):
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.model.{called}(x, weights).mean()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    """
    main = (
        "from model import Model\nfrom trainer import Trainer\nTrainer(Model()).step(scaler, optimizer, x, weights)\n"
    )
    losses = losses.replace("return self.scores", "return self.get_loss()")
    for called, expected in (("criterion", {"losses.py:10 AMP305"}), ("method", set())):
        root = project(tmp_path, losses=losses, model=model, trainer=trainer.format(called=called), main=main)
        assert found_in(root, select=("AMP305",)) == expected


MANY = """
    import torch

    class Entropy(torch.nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()

    class One(torch.nn.Module): ...
    class Two(torch.nn.Module): ...
    class Three(torch.nn.Module): ...
    class Four(torch.nn.Module): ...

    TABLE = {"one": One, "two": Two, "three": Three, "four": Four, "entropy": Entropy}

    def build(config):
        return TABLE[config.name]()
"""


@pytest.mark.parametrize(
    ("made", "other", "is_found"),
    [
        ("build(config)", "", True),
        ("TABLE[config.name]()", "", True),
        ('TABLE["entropy"]()', "", True),
        ('TABLE["one"]()', "", False),
        ("build(config)", "build(config.other)(scores)", False),
    ],
)
def test_any_class_of_a_table_may_be_chosen_if_all_are_entered_alike(
    tmp_path: Path, made: str, other: str, is_found: bool
) -> None:
    train = f"""
        import torch
        from losses import TABLE, build

        def train(loader, optimizer, scaler, config):
            criterion = {made}
            for x, weights in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(x @ weights)
                    scores = x @ weights
                {other}
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    """
    root = project(tmp_path, losses=MANY, train=train)
    assert found_in(root, select=("AMP305",)) == ({"losses.py:6 AMP305"} if is_found else set())


NETS = """
    import importlib
    import sys

    import torch
    from others import One, Two, Three, Four
    from more import *

    class Entropy(torch.nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()

    def build(name):
        module = importlib.import_module(__name__)
        return getattr(module, name)()

    def listed(name):
        return getattr(sys.modules[__name__], name)()

    def of_another(name):
        module = importlib.import_module(name)
        return getattr(module, name)()
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("getattr(nets, config.name)()", {"more.py:6 AMP305", "nets.py:11 AMP305"}),
        ("nets.__dict__[config.name]()", {"more.py:6 AMP305", "nets.py:11 AMP305"}),
        ("nets.build(config.name)", {"more.py:6 AMP305", "nets.py:11 AMP305"}),
        ("nets.listed(config.name)", {"more.py:6 AMP305", "nets.py:11 AMP305"}),
        ('getattr(nets, "Entropy")()', {"nets.py:11 AMP305"}),
        ('getattr(nets, "Other")()', {"more.py:6 AMP305"}),
        ('getattr(nets, "One")()', set()),
        ("nets.of_another(config.name)", set()),
        ("getattr(config, config.name)()", set()),
    ],
)
def test_a_module_is_asked_for_what_it_defines_or_imports(tmp_path: Path, made: str, expected: set[str]) -> None:
    train = f"""
        import torch
        import nets

        def train(loader, optimizer, scaler, config):
            net = {made}
            for x in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = net(x)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    """
    others = "\n".join(f"class {name}: ..." for name in ("One", "Two", "Three", "Four"))
    more = MANY.partition("class One")[0].replace("Entropy", "Other")
    root = project(tmp_path, nets=NETS, others=others, more=more, train=train)
    assert found_in(root, select=("AMP305",)) == expected


@pytest.mark.parametrize(("base", "is_found"), [("Square", False), ("Entropy", True), ("head", True)])
def test_the_attribute_of_an_object_is_what_its_base_class_assigns(tmp_path: Path, base: str, is_found: bool) -> None:
    losses = f"""{MANY.partition("class One")[0]}
    class Square(torch.nn.Module):
        def forward(self, scores):
            return (scores * scores).mean()
    """
    bases = f"""
        from losses import Entropy, Square

        class Base:
            def __init__(self, head=None):
                self.head = {base}{"" if base == "head" else "()"}
    """
    trainer = """
        import torch
        from bases import Base

        class Trainer(Base):
            def step(self, scaler, optimizer, x, weights):
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.head(x @ weights)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
    """
    main = """
        from losses import Entropy
        from trainer import Trainer

        class Other:
            def __init__(self):
                self.head = Entropy()

        Trainer().step(scaler, optimizer, x, weights)
    """
    root = project(tmp_path, losses=losses, bases=bases, trainer=trainer, main=main)
    assert found_in(root, select=("AMP305",)) == ({"losses.py:6 AMP305"} if is_found else set())
