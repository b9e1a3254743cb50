"""Classes whose bases stand in another file: what an object of them holds, and whose findings are whose."""

from __future__ import annotations

import textwrap
from pathlib import Path

from project import check, codes, project

BASE = """
    import torch
    from torch import nn

    class Inner(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, width)

        def forward(self, x):
            return self.layer(x)

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner(64)

        def loss(self, x):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.exp(self.inner(x)).sum()
            loss.backward()
"""
MODEL = """
    import torch
    from base import Base

    class Model(Base):
        def forward(self, x):
            return torch.exp(self.inner(x))

        def other_loss(self, x):
            with torch.autocast("cuda", dtype=torch.float16):
                {body}
"""


def test_an_inherited_constructor_makes_an_object_of_a_class_of_its_own_file(tmp_path: Path) -> None:
    body = "loss = torch.exp(self.inner(x)).sum()\n            loss.backward()"
    assert codes(project(tmp_path, base=BASE, train=MODEL.format(body=body)), "train.py") == ["AMP301"]


def test_what_an_inherited_method_does_wrong_is_told_in_its_own_file_alone(tmp_path: Path) -> None:
    root = project(tmp_path, base=BASE, train=MODEL.format(body="return self.loss(x)"))
    assert codes(root, "base.py") == ["AMP301"]
    assert codes(root, "train.py") == ["AMP201"]  # the backward pass of the base is in a region here alone


def test_a_value_computed_abroad_is_known_by_what_it_is_and_not_by_where_it_was_made(tmp_path: Path) -> None:
    base = BASE + "\n        def probability(self, x):\n            return torch.sigmoid(self.inner(x))\n"
    body = "loss = -torch.log(self.probability(x)).mean()\n            loss.backward()"
    root = project(tmp_path, base=base, train=MODEL.format(body=body))
    text = (root / "train.py").read_text()
    for found in check(root, "train.py").diagnostics:
        assert found.range.start.row == 11
        assert all(edit.start > text.index("other_loss") for edit in (found.fix.edits if found.fix else ()))


def test_names_of_the_other_file_are_not_those_of_this_one(tmp_path: Path) -> None:
    base = (
        "HIGHEST = 4.0\n"
        + textwrap.dedent(BASE)
        + textwrap.indent("def bounded(self, x):\n    return torch.clamp(self.inner(x), max=HIGHEST)\n", "    ")
    )
    body = "loss = torch.exp(self.bounded(x)).sum()\n            loss.backward()"
    (tmp_path / "base.py").write_text(base)
    root = project(tmp_path, train=MODEL.format(body=body) + "\n    HIGHEST = 1000.0\n")
    assert "AMP301" not in codes(root, "train.py")


STEREO = """
    from torch import nn
    from torch.amp import autocast

    class Backbone(nn.Module):
        def __init__(self, args):
            super().__init__()
            self.args = args

        def features(self, images):
            return images.flatten(1)

    class Model(Backbone):
        def forward(self, images):
            return self.volumes(self.features(images))

        def volumes(self, features):
            with autocast("cuda", enabled=self.args.amp):
                return features.abs()
"""
WITHOUT_UPDATE = """
    import torch
    from model import Model

    def train(args, loader, criterion):
        model = Model(args).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
        for images, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
"""


def test_all_methods_of_a_class_are_known_whose_base_stands_beside_it(tmp_path: Path) -> None:
    assert codes(project(tmp_path, model=STEREO, train=WITHOUT_UPDATE), "train.py") == ["AMP105"]
    unknown = STEREO.replace("Model(Backbone)", "Model(library.Backbone)")
    assert codes(project(tmp_path, model=unknown, train=WITHOUT_UPDATE), "train.py") == []
