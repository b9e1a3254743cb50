"""A method of a base class in another file is judged as it is written, if its heirs leave what it rests on as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

BASE = """
    import torch
    from torch import nn

    class Base(nn.Module):
        part_class = nn.BCELoss

        def __init__(self, part=nn.BCELoss(), logits=False, width=None):
            super().__init__()
            self.fc = nn.Linear(64, 8)
            self.width = width
            self.loss = {made}
            self.logits = logits

        def build(self):
            return nn.BCELoss()

        def get_loss(self, x, y):
            return self.loss(self.fc(x), y)
"""
HEIR = """
    from torch import nn
    from base import Base

    class Head(Base):
        {body}
"""
TRAIN = """
    import torch
    from heads import Head
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(64, 64)
            self.head = Head()

        def forward(self, x, y):
            return self.head.get_loss(self.body(x), y)

    def train(loader):
        net = Net().cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net(x, y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
"""
INIT = "def __init__(self):\n            super().__init__({given})\n            {more}"


@pytest.mark.parametrize(
    ("made", "body", "is_found"),
    [
        ("nn.BCELoss()", "pass", True),
        ("nn.BCELoss()", INIT.format(given="", more="self.other = 1"), True),
        ("nn.BCELoss()", INIT.format(given="width=8", more="pass"), True),
        ("nn.BCELoss()", INIT.format(given="", more="self.loss = nn.BCEWithLogitsLoss()"), False),
        ("nn.BCELoss()", INIT.format(given="", more="self.loss = None"), True),
        ("self.build()", "pass", True),
        ("self.build()", "def build(self): return nn.BCEWithLogitsLoss()", False),
        ("self.build()", "def other(self): return nn.BCEWithLogitsLoss()", True),
        ("self.part_class()", "part_class = nn.BCEWithLogitsLoss", False),
        ("part", INIT.format(given="part=nn.BCEWithLogitsLoss()", more="pass"), False),
        ("part", INIT.format(given="nn.BCEWithLogitsLoss()", more="pass"), False),
    ],
)
def test_what_an_heir_changes_is_not_judged_as_the_base_has_it(
    tmp_path: Path, made: str, body: str, is_found: bool
) -> None:
    root = project(tmp_path, base=BASE.format(made=made), heads=HEIR.format(body=body), train=TRAIN)
    assert found_in(root, select=("AMP304",)) == ({"base.py:19 AMP304"} if is_found else set())


def test_super_may_lead_to_a_class_beside(tmp_path: Path) -> None:
    heads = """
        from torch import nn
        from base import Base

        class Left(Base):
            def get_loss(self, x, y):
                return super().get_loss(x, y)

        class Right(Base):
            def get_loss(self, x, y):
                return nn.functional.binary_cross_entropy_with_logits(self.fc(x), y)

        class Head(Left{more}):
            pass
    """
    for more, is_found in (("", True), (", Right", False)):
        root = project(tmp_path, base=BASE.format(made="nn.BCELoss()"), heads=heads.format(more=more), train=TRAIN)
        assert found_in(root, select=("AMP304",)) == ({"base.py:19 AMP304"} if is_found else set())


@pytest.mark.parametrize("overrides", [False, True])
def test_a_part_that_a_subclass_builds_is_not_that_of_the_class(tmp_path: Path, overrides: bool) -> None:
    """The base is in a file of its own, and nobody makes an object of it."""
    parts = """
        from base import Base
        from torch import nn

        class Good(Base):
            def get_loss(self, x, y):
                return nn.functional.binary_cross_entropy_with_logits(self.fc(x), y)
    """
    model = f"""
        from base import Base
        from parts import Good
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = self.build_head()

            def build_head(self):
                return Base()

            def forward(self, x, y):
                return self.head.get_loss(x, y)

        class Other(Net):
            def {"build_head" if overrides else "build_tail"}(self):
                return Good()
    """
    train = TRAIN.replace("from heads import Head", "from model import Other").replace("Net().cuda()", "Other().cuda()")
    root = project(tmp_path, base=BASE.format(made="nn.BCELoss()"), parts=parts, model=model, train=train)
    assert found_in(root, select=("AMP304",)) == (set() if overrides else {"base.py:19 AMP304"})
