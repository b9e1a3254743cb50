"""The fix that makes a scaler in the worker takes it out of what the worker is given, whatever else is given."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import never_applied
from amplint.source import Source

CODE = """\
import torch
import torch.multiprocessing as mp


def worker(rank, {parameters}):
    optimizer = torch.optim.SGD(model.parameters())
    for x in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(model):
    scaler = torch.amp.GradScaler("cuda")
    mp.spawn(worker, args={given}, nprocs=2)
"""


@pytest.mark.parametrize(
    ("parameters", "given", "left"),
    [
        ("scaler", "(scaler,)", []),
        ("scaler", "[scaler]", []),
        ("scaler, model", "(scaler, model)", ["model"]),
        ("scaler, model", "(scaler, model,)", ["model"]),
        ("model, scaler", "(model, scaler)", ["model"]),
        ("model, scaler", "(model, scaler,)", ["model"]),
        ("model, scaler", "[model, scaler]", ["model"]),
        ("model, scaler, steps", "(model, scaler, 3)", ["model", "3"]),
        ("scaler, model, steps", "(scaler, model, 3)", ["model", "3"]),
    ],
)
def test_the_rest_is_still_given(tmp_path: Path, parameters: str, given: str, left: list[str]) -> None:
    source = Source("train.py", CODE.format(parameters=parameters, given=given))
    [finding] = never_applied(check_source(source, Settings(tmp_path, select=("AMP115",)), tmp_path / "train.py"))
    fixed, _ = apply(source, [finding])
    tree = ast.parse(fixed)
    [args] = [each.value for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "args"]
    assert isinstance(args, ast.Tuple if given[0] == "(" else ast.List)
    assert [ast.unparse(each) for each in args.elts] == left
    [function] = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "worker"]
    assert [each.arg for each in function.args.args] == [
        "rank",
        *(each for each in parameters.split(", ") if each != "scaler"),
    ]
