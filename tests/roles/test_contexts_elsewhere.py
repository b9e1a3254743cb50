"""Contexts that another file of the project makes, keeps or hands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, project

from amplint.python_ast import gate

TRAIN = """
import torch
from {module} import {name}

def train_step(model, x, y, criterion, optimizer, options):
    optimizer.zero_grad()
    with {context}:
        loss = criterion(model(x), y)
        loss.backward()
    optimizer.step()
"""
COMPAT = """
try:
    from torch.amp import autocast
except ImportError:
    from torch.cuda.amp import autocast
"""


def codes(root: Path, path: str) -> set[str]:
    report = check(root, path)
    assert not report.error
    return {each.code for each in report.diagnostics}


@pytest.mark.parametrize(
    ("helper", "name", "context"),
    [
        (COMPAT, "autocast", "autocast('cuda', dtype=torch.bfloat16)"),
        ("from torch import autocast", "autocast", "autocast('cuda', dtype=torch.bfloat16)"),
        ("import torch\nautocast = torch.autocast", "autocast", "autocast('cuda', dtype=torch.bfloat16)"),
        ("import torch\namp_ctx = torch.autocast('cuda', dtype=torch.bfloat16)", "amp_ctx", "amp_ctx"),
        ("import torch\nmixed = lambda: torch.autocast('cuda', dtype=torch.bfloat16)", "mixed", "mixed()"),
        (
            "import torch\ndef inner():\n    return torch.autocast('cuda', dtype=torch.bfloat16)\n"
            "def precision_of(on=True):\n    return inner()",
            "precision_of",
            "precision_of(options.amp)",
        ),
    ],
)
def test_a_context_of_another_file_is_a_region(tmp_path: Path, helper: str, name: str, context: str) -> None:
    root = project(tmp_path, compat=helper, train=TRAIN.format(module="compat", name=name, context=context))
    assert "AMP201" in codes(root, "train.py")


@pytest.mark.parametrize(
    ("helper", "context"),
    [
        ("class autocast:\n    def __init__(self, device): ...", "autocast('cuda')"),
        ("from contextlib import nullcontext as autocast", "autocast()"),
        ("from tensorflow.keras import autocast", "autocast('cuda')"),
    ],
)
def test_what_is_only_called_so_is_none(tmp_path: Path, helper: str, context: str) -> None:
    root = project(tmp_path, compat=helper, train=TRAIN.format(module="compat", name="autocast", context=context))
    assert codes(root, "train.py") == set()


SCALES = """
from compat import GradScaler

def train(model, loader, optimizer, checkpointer, arguments):
    scaler = GradScaler()
    for arguments["iteration"], x in enumerate(loader):
        optimizer.zero_grad()
        scaler.scale(model(x)).backward()
        scaler.step(optimizer)
        scaler.update()
        checkpointer.save("last", **arguments)
"""


@pytest.mark.parametrize(
    "stand_in",
    ["class GradScaler:\n        pass", "from contextlib import nullcontext as GradScaler", "GradScaler = None"],
)
def test_what_stands_in_for_the_scaler_of_a_new_torch_is_none(tmp_path: Path, stand_in: str) -> None:
    helper = f"try:\n    from torch.amp import GradScaler\nexcept ImportError:\n    {stand_in}"
    root = project(tmp_path, compat=helper, train=SCALES)
    assert "AMP114" in codes(root, "train.py")


BASE = """
import contextlib
import torch

class Base:
    def __init__(self, args, model):
        self.use_amp, self.model = args.amp, model
        self.{name} = {made}
"""
OWN = """
import torch
import torch.nn.functional as F
from base import Base

class Match(Base):
    def step(self, x, y):
        with {entered}:
            logits = self.model(x)
            return F.kl_div(F.softmax(logits, dim=-1).log(), y)
"""


@pytest.mark.parametrize(
    ("name", "made", "entered"),
    [
        ("amp_cm", "torch.cuda.amp.autocast if self.use_amp else contextlib.nullcontext", "self.amp_cm()"),
        ("ctx", "torch.autocast('cuda', enabled=self.use_amp)", "self.ctx"),
        ("precision", "lambda: torch.autocast('cuda')", "torch.profiler.record_function('step'), self.precision()"),
    ],
)
def test_a_context_of_the_base_class_is_a_region(tmp_path: Path, name: str, made: str, entered: str) -> None:
    root = project(tmp_path, base=BASE.format(name=name, made=made), match=OWN.format(entered=entered))
    assert codes(root, "match.py") == {"AMP305"}


@pytest.mark.parametrize(
    "entered", ["self.nullcontext()", "self.app_context()", "self.broadcast()", "self.lock", "ctx()"]
)
def test_other_contexts_of_an_object_are_no_words_of_amp(tmp_path: Path, entered: str) -> None:
    root = project(tmp_path, match=OWN.format(entered=entered))
    assert not gate.may_matter((root / "match.py").read_bytes())


def test_contexts_of_an_object_are_no_words_of_amp_without_torch(tmp_path: Path) -> None:
    root = project(tmp_path, match=OWN.format(entered="self.ctx").replace("torch", "numpy"))
    assert not gate.may_matter((root / "match.py").read_bytes())


@pytest.mark.parametrize("name", ["record_function", "nullcontext", "app_context", "broadcast", "example"])
def test_other_contexts_are_no_words_of_amp(tmp_path: Path, name: str) -> None:
    root = project(tmp_path, train=TRAIN.format(module="elsewhere", name=name, context=f"{name}()"))
    assert not gate.may_matter((root / "train.py").read_bytes())


def test_a_deprecated_name_is_told_where_it_is_handed_on(tmp_path: Path) -> None:
    helper = "from torch.cuda.amp import autocast"
    root = project(tmp_path, compat=helper, train=TRAIN.format(module="compat", name="autocast", context="autocast()"))
    assert "AMP209" not in codes(root, "train.py")
    assert "AMP209" in codes(root, "compat.py")


WRAPPING = """
import functools
import torch

def {name}(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        {before}
        with torch.autocast('cuda', {setting}):
            return function(*args, **kwargs)
    return wrapped
"""
DECORATED = """
import torch
import torch.nn.functional as F
from wrapping import {name}

@{name}
def objective(model, x, y):
    return F.binary_cross_entropy(model(x).sigmoid(), y)

def train_step(model, x, y, optimizer, scaler):
    optimizer.zero_grad()
    {region}
        loss = objective(model, x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("before", "setting", "region", "expected"),
    [
        ("pass", "dtype=torch.float16", "if True:", True),
        ("pass", "enabled=False", "with torch.autocast('cuda', dtype=torch.float16):", False),
        (
            "if not args: return function(*args)",
            "enabled=False",
            "with torch.autocast('cuda', dtype=torch.float16):",
            False,
        ),
        ("if not args: return function(*args)", "dtype=torch.float16", "if True:", False),
    ],
)
def test_a_decorator_of_another_file_puts_a_region_around_a_function(
    tmp_path: Path, before: str, setting: str, region: str, expected: bool
) -> None:
    name = "in_its_precision"
    wrapping = WRAPPING.format(name=name, before=before, setting=setting)
    root = project(tmp_path, wrapping=wrapping, train=DECORATED.format(name=name, region=region))
    assert ("AMP304" in codes(root, "train.py")) is expected
