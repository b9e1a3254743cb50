"""What is said, and where, of a defect whose parts lie in several files."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import CLIPS, LOOP, check, codes, only, project


def test_a_helper_that_is_called_three_times_is_one_finding(tmp_path: Path) -> None:
    train = LOOP.format(module="utils", name="clip", call="clip(model, 1.0)").replace(
        "clip(model, 1.0)\n", "clip(model, 1.0)\n        clip(model, 2.0)\n        clip(model, 3.0)\n"
    )
    root = project(tmp_path, utils=CLIPS, train=train)
    found = only(check(root, "train.py"))
    also = [place.range.start.row for place in found.related if place.message == "also here"]
    assert (found.range.start.row, also) == (12, [13, 14])


def test_comments_silence_the_places_of_one_finding_one_by_one(tmp_path: Path) -> None:
    train = LOOP.format(module="utils", name="clip", call="clip(model, 1.0)").replace(
        "clip(model, 1.0)\n",
        "clip(model, 1.0)  # noqa: AMP101\n        clip(model, 2.0)\n        clip(model, 3.0)  # noqa: AMP101\n",
    )
    root = project(tmp_path, utils=CLIPS, train=train)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP101", 13)
    assert not any(place.message == "also here" for place in found.related)
    (root / "train.py").write_text((root / "train.py").read_text().replace("2.0)\n", "2.0)  # noqa\n"))
    assert codes(root, "train.py") == []


SCALE = """
import torch

def clip(model, limit, times):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit * times)

def divide(model, by):
    for param in model.parameters():
        if param.grad is not None:
            param.grad.div_(by)

def limit_of(scaler, limit):
    return limit * scaler.get_scale()
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("clip", "clip(model, 1.0, scaler.get_scale())"),
        ("divide", "divide(model, scaler.get_scale()); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
        ("limit_of", "torch.nn.utils.clip_grad_norm_(model.parameters(), limit_of(scaler, 1.0))"),
    ],
)
def test_the_scale_is_followed_into_another_file(tmp_path: Path, name: str, call: str) -> None:
    root = project(tmp_path, utils=SCALE, train=LOOP.format(module="utils", name=name, call=call))
    assert codes(root, "train.py") == codes(root, "utils.py") == []


def test_a_scaler_of_another_framework_in_another_file_is_left_alone(tmp_path: Path) -> None:
    own = """
        import paddle

        class QuietScaler(paddle.amp.GradScaler):
            pass
    """
    train = """
        from own import QuietScaler

        def train(model, loader, loss_fn, optimizer):
            scaler = QuietScaler()
            for x, y in loader:
                scaler.scale(loss_fn(model(x), y)).backward()
                model.clip_grad_norm_(1.0)
                scaler.step(optimizer)
    """
    root = project(tmp_path, own=own, train=train)
    assert codes(root, "train.py") == []


NORM = """
import torch

def grad_norm(parameters):
    total = 0.0
    for parameter in parameters:
        total += parameter.grad.norm(2).item() ** 2
    return total**0.5
"""

LOGGER = """
import numpy

loggers = {}

class GradientLogger:
    def __init__(self, writer):
        self.writer = writer

    def log_grads(self, step, model):
        norms = [parameter.grad.norm().item() for parameter in model.parameters()]
        for statistic in ("max", "mean"):
            self.writer.add_scalar(statistic, getattr(numpy, statistic)(norms), step)

def init(names, writer):
    global loggers
    loggers = {name: GradientLogger(writer) for name in names}

def log_grads_of(step, model, name="train"):
    loggers[name].log_grads(step, model)
"""


@pytest.mark.parametrize("module", ["common.log", "common.deep.log"])
def test_a_folder_without_init_is_a_package(tmp_path: Path, module: str) -> None:
    train = LOOP.format(module=module, name="log_grads_of", call="log_grads_of(0, model)")
    root = project(tmp_path, **{module.replace(".", "_"): LOGGER}, train=train)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP102", 12)
    assert found.related[-1].path == str(root / f"{module.replace('.', '/')}.py")


def test_after_another_backward_pass_a_helper_does_another_defect(tmp_path: Path) -> None:
    again = """
        optimizer.zero_grad()
        scaler.scale(criterion(model(target), data)).backward()
        print(grad_norm(model.parameters()))
        scaler.step(optimizer)
        scaler.update()
    """
    train = LOOP.format(module="utils", name="grad_norm", call="print(grad_norm(model.parameters()))")
    root = project(tmp_path, utils=NORM, train=train.rstrip() + again)
    found = check(root, "train.py").diagnostics
    assert [(each.code, each.range.start.row) for each in found] == [("AMP102", 12), ("AMP102", 17)]
    assert codes(root, "utils.py") == []
