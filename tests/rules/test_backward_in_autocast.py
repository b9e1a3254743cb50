"""AMP201 where the backward pass stands in another file: measurements are left alone there, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, project

CALLER = """
import torch
from tools import {name}

def run(model, images, optimizer):
    with torch.autocast("cuda"):
        {name}(model, images)
"""
HELPER = """
def {name}(model, images):
    for _ in range(9):
        model(images).sum().backward()
"""


@pytest.mark.parametrize(("name", "expected"), [("profile", []), ("propagate", ["AMP201"])])
def test_what_the_helper_is_for(tmp_path: Path, name: str, expected: list[str]) -> None:
    root = project(tmp_path, run=CALLER.format(name=name), tools=HELPER.format(name=name))
    assert codes(root, "run.py") == expected
