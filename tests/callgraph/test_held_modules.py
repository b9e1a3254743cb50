"""Objects of other files that a container, or a property, holds: what they run is entered under the caller's region."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

LOSSES = """
    import torch
    from torch import nn

    class Entropy(nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores, -1)).mean()

    class Square(nn.Module):
        def forward(self, scores):
            return torch.log(torch.softmax(scores.float(), -1)).mean()

        @classmethod
        def from_config(cls, cfg):
            loss = cls()
            return loss

    class Holder:
        def __init__(self):
            self._entropy = Entropy()

        @property
        def criterion(self):
            return self._entropy

        def other(self, scores):
            return scores
"""
TRAIN = """
    import torch
    from torch import nn
    from losses import Entropy, Holder, Square

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, 64)

        def forward(self, x):
            return self.head(x)

    def train(loader, optimizer, scaler):
        net = Net().cuda()
        held = {held}
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = {called}
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("held", "called", "expected"),
    [
        ('nn.ModuleDict({"a": Entropy(), "b": Square()})', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('nn.ModuleDict({"a": Entropy(), "b": Square()}).cuda()', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('{"a": Entropy(), "b": Square()}', 'held["a"](net(x))', {"losses.py:7 AMP305"}),
        ('nn.ModuleDict({"a": Entropy(), "b": Square()})', 'held["b"](net(x))', {"losses.py:11 AMP305"}),
        ("Holder()", "held.criterion(net(x))", {"losses.py:7 AMP305"}),
        ("Holder()", "held.other(net(x)).mean()", set()),
    ],
)
def test_what_holds_a_loss_leads_to_it(tmp_path: Path, held: str, called: str, expected: set[str]) -> None:
    root = project(tmp_path, losses=LOSSES, train=TRAIN.format(held=held, called=called))
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == expected


def test_an_element_of_a_table_that_an_object_was_given_leads_to_a_loss(tmp_path: Path) -> None:
    trainer = """
        import torch

        class Trainer:
            def __init__(self, net, losses, loader):
                self.net, self.losses, self.loader = net, losses, loader
                self.optimizer = torch.optim.AdamW(net.parameters())
                self.scaler = torch.amp.GradScaler("cuda")

            def train(self):
                for x, weights in self.loader:
                    self.optimizer.zero_grad()
                    with torch.autocast("cuda", dtype=torch.float16):
                        loss = self.losses["a"](x @ weights)
                    self.scaler.scale(loss).backward()
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
    """
    main = """
        from losses import Entropy, Square
        from trainer import Trainer

        Trainer(net, {"a": Entropy(), "b": Square()}, loader).train()
    """
    root = project(tmp_path, losses=LOSSES, trainer=trainer, main=main)
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == {"losses.py:7 AMP305"}


FACTORY = """
    def class_of(name):
        {first}
            from {module} import {taken}

            return {made}
        raise NotImplementedError(name)

    def make(config):
        chosen = class_of(config.loss)
        return chosen()
"""
FACTORY_TRAIN = """
    import torch
    from factory import make

    def train(loader, net, optimizer, scaler, config):
        criterion = make(config)
        for x, weights in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(x @ weights)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("first", "module", "taken", "made", "expected"),
    [
        ('if name == "entropy":', "losses", "Entropy", "Entropy", {"losses.py:7 AMP305"}),
        ('if name == "entropy":', "losses", "Entropy as Loss", "Loss", {"losses.py:7 AMP305"}),
        ("try:", "losses", "Entropy", "Entropy", {"losses.py:7 AMP305"}),
        ("with open(name):", "losses", "Entropy", "Entropy", {"losses.py:7 AMP305"}),
        ('if name == "square":', "losses", "Square", "Square", {"losses.py:11 AMP305"}),
        ('if name == "entropy":', "installed", "Entropy", "Entropy", set()),
    ],
)
def test_a_factory_may_import_what_it_makes(
    tmp_path: Path, first: str, module: str, taken: str, made: str, expected: set[str]
) -> None:
    factory = FACTORY.format(first=first, module=module, taken=taken, made=made)
    if first == "try:":
        factory = factory.replace(
            "        raise Not", "        except ImportError:\n            pass\n        raise Not"
        )
    root = project(tmp_path, losses=LOSSES, factory=factory, train=FACTORY_TRAIN)
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == expected


def test_an_import_in_one_function_says_nothing_of_another(tmp_path: Path) -> None:
    factory = """
        def other():
            from losses import Entropy

            return Entropy

        def make(config):
            return Entropy()
    """
    root = project(tmp_path, losses=LOSSES, factory=factory, train=FACTORY_TRAIN)
    assert not {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")}


FACTORIES = """
    from losses import Entropy, Square

    REGISTRY = {}

    class Maker:
        @staticmethod
        def create(cfg):
            return Entropy()

        @classmethod
        def named(cls, cfg) -> "Square":
            return REGISTRY[cfg.name](cfg)

        def bound(self):
            return Entropy()


    def annotated(cfg) -> Entropy:
        return REGISTRY[cfg.name](cfg)

    def told_by_itself(cfg) -> Entropy:
        return Square()

    def unknown(cfg):
        return REGISTRY[cfg.name](cfg)
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Maker.create(cfg)", {"losses.py:7 AMP305"}),
        ("Maker.create(cfg).cuda()", {"losses.py:7 AMP305"}),
        ("Maker.named(cfg)", {"losses.py:11 AMP305"}),
        ("Square.from_config(cfg)", {"losses.py:11 AMP305"}),
        ("annotated(cfg)", {"losses.py:7 AMP305"}),
        ("told_by_itself(cfg)", {"losses.py:11 AMP305"}),
        ("Maker.bound(cfg)", set()),
        ("unknown(cfg)", set()),
    ],
)
def test_what_a_factory_makes_is_entered(tmp_path: Path, made: str, expected: set[str]) -> None:
    train = TRAIN.format(held=made, called="held(net(x))").replace(
        "from losses", "from makers import *\n    from losses"
    )
    root = project(
        tmp_path,
        losses=LOSSES,
        makers=FACTORIES,
        train=train.replace("import *", "import Maker, annotated, told_by_itself, unknown"),
    )
    assert {each for each in found_in(root, select=("AMP3",)) if each.startswith("losses")} == expected


MODELS = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Linear(64, 64)
            self.logvar = nn.Linear(64, 64)

        def forward(self, x):
            return self.mean(x), {logvar}

    class Other(nn.Module):
        def forward(self, x):
            return x, x.float()

    class Model(nn.Module):
        def __init__(self, wide=True):
            super().__init__()
            {parts}
"""
VARIATIONAL = """
    import torch
    from models import Model

    def train(loader):
        model = Model().cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                mean, logvar = model.encoder(x)
                loss = (logvar.exp() - logvar + mean**2).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
HALF = "self.logvar(x)"


@pytest.mark.parametrize(
    ("parts", "logvar", "expected"),
    [
        ("self.encoder = Encoder()", HALF, {"train.py:13 AMP301"}),
        ("self.encoder = Encoder()", f"{HALF}.float()", set()),
        ("self.encoder = Encoder() if wide else Other()", HALF, set()),
        ("self.encoder = wide", HALF, set()),
        ("self.encoder = Encoder()\n\n        def encoder(self, x):\n            return x, x.float()", HALF, set()),
    ],
)
def test_a_part_of_a_model_is_called(tmp_path: Path, parts: str, logvar: str, expected: set[str]) -> None:
    root = project(tmp_path, models=MODELS.format(parts=parts, logvar=logvar), train=VARIATIONAL)
    assert found_in(root, select=("AMP301",)) == expected
