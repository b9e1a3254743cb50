"""Evaluations in a context whose class another file defines: it is a region only if something in its class makes one (AMP202)."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

TOOLS = """
    import contextlib
    import time
    import torch

    # saves the model and optimizer.state_dict()
"""
CLASS = """
    class Timer:
        def __init__(self, name):
            self.name, self.start = name, None

        def __enter__(self):
            self.start = time.time()
            return self

        def __exit__(self, *_):
            print(self.name)
"""
TABLE = """
    Timer = {"half": lambda name: torch.autocast("cuda"), "none": contextlib.nullcontext}[MODE]
"""
TRAIN = """
    import torch
    from torch import nn
    from tools import Timer

    def run(conf, data):
        model = nn.Linear(64, 64).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        timer = Timer("other")
        for image in data:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(image), image)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            with timer:
                evaluate(model, data)

    def evaluate(model, data):
        with torch.no_grad():
            for image in data:
                print(nn.functional.mse_loss(model(image), image).item())
"""


@pytest.mark.parametrize(("timer", "is_found"), [(CLASS, True), (TABLE, False)])
def test_a_context_without_a_word_of_amp_is_no_region(tmp_path: Path, timer: str, is_found: bool) -> None:
    root = project(tmp_path, tools=TOOLS + timer, train=TRAIN)
    assert found_in(root, select=("AMP202",)) == ({"train.py:24 AMP202"} if is_found else set())
