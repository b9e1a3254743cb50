"""What a registry gives back is any of the classes that are registered there: each is judged as the calls enter it."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

REGISTRY = """
from mmengine.registry import Registry, build_from_cfg

LOSSES = Registry("loss")
OTHERS = Registry("other")


def build(cfg, registry, default_args=None):
    if isinstance(cfg, list):
        return [build_from_cfg(each, registry, default_args) for each in cfg]
    return build_from_cfg(cfg, registry, default_args)


def build_loss(cfg):
    return build(cfg, LOSSES)
"""
LOSS = """
from torch import nn
from registry import LOSSES, OTHERS


@{registry}.register_module()
class Loss{number}(nn.Module):
    def forward(self, {parameters}):
        return (scores / (scores.std(-1, keepdim=True) + 1e-8)).mean()
"""
NET = """
import torch
from torch import nn
import registry
from registry import LOSSES, build_from_cfg, build_loss


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.score = nn.Linear(4, 4)
        self.loss = {made}

    def forward(self, x, y):
        scores = self.score(x)
        return {called}


def fit(loader, optimizer, scaler, cfg):
    net = Net(cfg)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled={enabled}):
            loss = net(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
AUXILIARY = """

class Auxiliary(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.score = nn.Linear(4, 4)
        self.aux = build_loss(cfg)

    def forward(self, x, y):
        scores = self.score(x)
        {called}


def fit_auxiliary(loader, optimizer, scaler, cfg):
    net = Auxiliary(cfg)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
ALL = {0, 1, 2, 3, 4, 5}


def found(
    root: Path,
    made: str = "build_loss(cfg)",
    called: str = "self.loss(scores, y)",
    enabled: str = "True",
    parameters: str = "scores, target",
    auxiliary: str = "",
    registry: str = REGISTRY,
    count: int = 6,
) -> set[int]:
    """The numbers of the losses that are reported; the last of them has other parameters, where any are given."""
    files = {
        f"loss{number}": LOSS.format(
            registry="LOSSES", number=number, parameters=parameters if number == count - 1 else "scores, target"
        )
        for number in range(count)
    }
    net = NET.format(made=made, called=called, enabled=enabled)
    net += AUXILIARY.format(called=auxiliary) if auxiliary else ""
    other = LOSS.format(registry="OTHERS", number=999, parameters="scores, target")
    root = project(root, **files, loss999=other, net=net, registry=registry)
    places = found_in(root, select=("AMP302",))
    assert all(place.endswith(".py:9 AMP302") for place in places)
    return {int(place.removeprefix("loss").partition(".")[0]) for place in places}


@pytest.mark.parametrize(
    "made",
    [
        "build_loss(cfg)",
        "build_from_cfg(cfg, LOSSES)",
        "build_from_cfg(cfg, registry=LOSSES)",
        "LOSSES.build(cfg)",
        "LOSSES.get(cfg.name)(cfg)",
        "registry.build(cfg, LOSSES)",
        "registry.build(cfg, registry=LOSSES)",
        "registry.build(cfg, registry.LOSSES)",
    ],
)
def test_each_class_of_the_registry_may_be_meant(tmp_path: Path, made: str) -> None:
    assert found(tmp_path, made) == ALL


LOOKS_UP = """
from mmcv.utils import Registry

LOSSES = Registry("loss")
OTHERS = Registry("other")


def build_from_cfg(cfg, registry):
    args = cfg.copy()
    made = registry.get(args.pop("type"))
    return made(**args)


def build_loss(cfg):
    return {builds}
"""


@pytest.mark.parametrize(
    "builds", ["build_from_cfg(cfg, LOSSES)", "make(cfg, LOSSES)", "give(LOSSES, cfg)", "nested(LOSSES, cfg)"]
)
def test_functions_of_the_project_that_look_a_class_up(tmp_path: Path, builds: str) -> None:
    more = """

def make(cfg, registry):
    found = registry.get(cfg.pop("type"))
    return found(**cfg)


def give(registry, cfg):
    return registry.get(cfg.pop("type"))(**cfg)


def nested(registry, cfg):
    return make(cfg, registry)
"""
    assert found(tmp_path, registry=LOOKS_UP.format(builds=builds) + more) == ALL


def test_only_what_is_registered_under_a_key_that_stands_there(tmp_path: Path) -> None:
    assert found(tmp_path, made="LOSSES.get('Loss3')(cfg)") == {3}
    assert found(tmp_path, made="build_loss(dict(type='Loss3'))") == {3}


@pytest.mark.parametrize("parameters", ["scores", "scores, target, weight", "scores, target, *, weight"])
def test_a_class_that_cannot_be_called_like_that(tmp_path: Path, parameters: str) -> None:
    assert found(tmp_path, parameters=parameters) == ALL - {5}


@pytest.mark.parametrize("parameters", ["scores, target, weight=1", "scores, *rest", "scores, target=0, **more"])
def test_a_class_that_can(tmp_path: Path, parameters: str) -> None:
    assert found(tmp_path, parameters=parameters) == ALL


@pytest.mark.parametrize("called", ["self.loss(scores, *y)", "self.loss(scores, **y)"])
def test_arguments_that_are_not_counted(tmp_path: Path, called: str) -> None:
    assert found(tmp_path, called=called, parameters="scores, target, weight") == ALL


def test_no_region_or_a_wider_precision(tmp_path: Path) -> None:
    assert found(tmp_path, enabled="False") == set()
    assert found(tmp_path, called="self.loss(scores.float(), y)") == set()


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("return self.aux(scores.float(), y)", set()),
        ("with torch.autocast('cuda', enabled=False):\n            return self.aux(scores, y)", set()),
        ("return self.aux(scores, y)", ALL),
        ("return self.aux(scores)", ALL),
        ("with torch.no_grad():\n            return self.aux(scores, y)", ALL),
    ],
)
def test_classes_that_may_be_meant_for_another_call(tmp_path: Path, called: str, expected: set[int]) -> None:
    assert found(tmp_path, auxiliary=called) == expected


def test_a_registry_of_the_same_name_in_another_file(tmp_path: Path) -> None:
    own = 'from mmengine.registry import Registry\n\nLOSSES = Registry("own")\n'
    loss = LOSS.format(registry="LOSSES", number=50, parameters="scores, target")
    root = project(
        tmp_path, own=own, loss50=loss.replace("from registry import LOSSES, OTHERS", "from own import LOSSES")
    )
    assert found(root) == ALL
    from_own = REGISTRY.replace("return build(cfg, LOSSES)", "return build(cfg, own.LOSSES)")
    assert found(root, registry=f"import own{from_own}") == {50}


def test_a_class_that_widens_what_it_is_given(tmp_path: Path) -> None:
    loss = LOSS.format(registry="LOSSES", number=50, parameters="scores, target")
    widened = loss.replace("        return", "        scores = scores.float()\n        return")
    assert found(project(tmp_path, loss50=loss)) == {*ALL, 50}
    assert found(project(tmp_path, loss50=widened)) == ALL


def test_a_catalogue_says_nothing(tmp_path: Path) -> None:
    assert len(found(tmp_path, count=100)) == 100
    assert found(tmp_path, count=101) == set()
