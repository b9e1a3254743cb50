"""Gradients that functions of other files measure, compare, or leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import LOOP, check, codes, only, project

NORM = """
    def grad_norm(parameters):
        total = 0.0
        for p in parameters:
            if p.grad is not None:
                total += p.grad.data.norm(2).item() ** 2
        return total ** 0.5
"""
LOGS = """
    def log_gradients(model, writer, step):
        for name, p in model.named_parameters():
            writer.add_scalar(name, p.grad.norm().item(), step)
"""
LOGS_WHAT_IT_MEASURES = """
    def norm_of(parameters):
        return sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5

    def log_gradients(model, writer, step):
        writer.add_scalar("norm", norm_of(model.parameters()), step)
"""
METHOD = """
    class Board:
        def __init__(self, writer):
            self.writer = writer

        def log_gradients(self, model, step):
            norms = [p.grad.norm().item() for p in model.parameters()]
            self.writer.add_scalar("norm", max(norms), step)

    board = Board(None)
    boards = {name: Board(name) for name in ("train", "eval")}
"""
TESTS = """
    import torch

    def has_overflow(model):
        norms = [p.grad.norm() for p in model.parameters()]
        return not torch.isfinite(torch.stack(norms).sum())

    def grad_norm(model):
        return torch.stack([p.grad.norm() for p in model.parameters()]).norm()

    def drop_missing(model):
        return [p for p in model.parameters() if p.grad is not None]
"""


@pytest.mark.parametrize(
    ("helper", "name", "call"),
    [
        (NORM, "grad_norm", "norm = grad_norm(model.parameters()); print(norm)"),
        (NORM, "grad_norm", "norms.append(grad_norm(model.parameters()))"),
        (NORM, "grad_norm", "assert grad_norm(model.parameters()) < 5"),
        (LOGS, "log_gradients", "log_gradients(model, writer, step)"),
        (LOGS_WHAT_IT_MEASURES, "log_gradients", "log_gradients(model, writer, step)"),
        (METHOD, "board", "board.log_gradients(model, step)"),
        (METHOD, "boards", 'boards["train"].log_gradients(model, step)'),
    ],
)
def test_a_reading_in_another_file_is_found_at_the_call(tmp_path: Path, helper: str, name: str, call: str) -> None:
    root = project(tmp_path, utils=helper, train=LOOP.format(module="utils", name=name, call=call))
    assert codes(root, "train.py") == ["AMP102"]
    assert codes(root, "utils.py") == []


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("has_overflow", "print(has_overflow(model))"),
        ("grad_norm", "finite = torch.isfinite(grad_norm(model)); print(finite)"),
        ("grad_norm", "print(grad_norm(model) / scaler.get_scale())"),
        ("grad_norm", "scaler.unscale_(optimizer); print(grad_norm(model))"),
        ("drop_missing", "print(len(drop_missing(model)))"),
    ],
)
def test_what_comes_out_the_same_is_silent(tmp_path: Path, name: str, call: str) -> None:
    root = project(tmp_path, utils=TESTS, train=LOOP.format(module="utils", name=name, call=call))
    assert codes(root, "train.py") == codes(root, "utils.py") == []


HELPERS = """
    import torch

    scaler = torch.amp.GradScaler("cuda")

    def propagate(loss):
        scaler.scale(loss).backward()

    def advance(optimizer):
        scaler.step(optimizer)
        scaler.update()
"""
MIDDLE = """
    import torch
    from pkg.helpers import advance, propagate

    def train(model, loader, optimizer):
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(x, y)
            propagate(loss)
            {middle}
            advance(optimizer)
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "Gradients are clipped before `scaler` unscales them"),
        ("print(model.weight.grad.norm())", "Gradients are read before `scaler` unscales them"),
    ],
)  # fmt: skip
def test_a_scaler_that_only_helpers_know_goes_by_its_name(tmp_path: Path, middle: str, expected: str) -> None:
    root = project(tmp_path, pkg_init="", pkg_helpers=HELPERS, train=MIDDLE.format(middle=middle))
    assert only(check(root, "train.py")).message == expected


FILTERED = """
    def norm_of(parameters):
        parameters = list(filter(lambda p: p.grad is not None, parameters))
        total = 0.0
        for p in parameters:
            total += p.grad.data.norm(2).item()
        return total
"""
TWO_NETWORKS = """
    import torch
    from utils import norm_of

    def train(nets, optims, scaler, loader):
        net_g, net_d = nets
        optim_g, optim_d = optims
        for x in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net_d(x).mean()
            optim_d.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optim_d)
            print(norm_of(net_d.parameters()))
            scaler.step(optim_d)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net_d(net_g(x)).mean()
            optim_g.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optim_g)
            print(norm_of(net_g.parameters()))
            scaler.step(optim_g)
            scaler.update()

    def main(net_g, net_d, loader):
        optim_g = torch.optim.AdamW(filter(lambda p: p.requires_grad, net_g.parameters()))
        optim_d = torch.optim.AdamW(net_d.parameters())
        scaler = torch.amp.GradScaler("cuda")
        train([net_g, net_d], [optim_g, optim_d], scaler, loader)
"""


def test_what_filters_have_in_common_is_no_network(tmp_path: Path) -> None:
    root = project(tmp_path, utils=FILTERED, train=TWO_NETWORKS)
    assert codes(root, "train.py") == []
