"""Which function of which file a context is for."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import project

from amplint.callgraph.linking import Links
from amplint.model.caller_contexts import CallerContext, Target


def targets(root: Path, target: Target, caller: str = "engine.py") -> set[str]:
    given = target._replace(file=str(root / target.file)) if target.file else target
    context = CallerContext(given, None, True, False, (), str(root / caller), 1, 1)
    found = Links(root.rglob("*.py"), root).by_file([context])
    return {f"{Path(path).relative_to(root)} {one.target.name}" for path, each in found.items() for one in each}


LOSSES = """
import torch

class Focal(torch.nn.Module):
    def forward(self, x): ...

class Dice(torch.nn.Module):
    def forward(self, x): ...

def bce(x): ...

def build(args):
    criterion = Focal().cuda()
    return criterion

def build_both(args):
    model = Dice()
    criterion = Focal()
    return model, criterion
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target("losses.py", "bce"), {"losses.py bce"}),
        (Target("losses.py", "Focal", True), {"losses.py Focal"}),
        (Target("losses.py", "build", True), {"losses.py Focal"}),
        (Target("pkg/__init__.py", "bce"), {"losses.py bce"}),
        (Target("pkg/__init__.py", "Wrapped", True), {"losses.py Dice"}),
        (Target("losses.py", "gone"), set()),
    ],
)
def test_names_are_followed_to_definitions(tmp_path: Path, target: Target, expected: set[str]) -> None:
    root = project(tmp_path, losses=LOSSES, pkg_init="from losses import bce, Dice as Wrapped")
    assert targets(root, target) == expected


@pytest.mark.parametrize(
    "making",
    [
        "criterion = Focal()",
        "criterion = Focal().to('cuda')",
        "run(criterion=Focal())",
        "parts = {'criterion': Focal()}",
        "criterion = build(1)",
        "model, criterion = build_both(1)\ncriterion = build_both(1)",
    ],
)
def test_a_parameter_is_what_the_project_makes_under_its_name(tmp_path: Path, making: str) -> None:
    main = f"from losses import Focal, build, build_both\nimport engine\n{making}"
    root = project(tmp_path, losses=LOSSES, engine="", main=main)
    assert targets(root, Target("", "criterion", True)) == {"losses.py Focal"}


def test_a_name_in_an_unrelated_program_says_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine="", other="from losses import Focal\ncriterion = Focal()")
    assert targets(root, Target("", "criterion", True)) == set()


def test_a_name_for_objects_of_many_classes_says_nothing(tmp_path: Path) -> None:
    classes = "\n".join(f"class C{number}: ...\nlayer = C{number}()" for number in range(9))
    root = project(tmp_path, engine="", main=f"import engine\n{classes}")
    assert targets(root, Target("", "layer", True)) == set()


def test_what_does_not_parse_defines_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, losses="def bce(x:", main="import losses")
    assert targets(root, Target("losses.py", "bce")) == set()
