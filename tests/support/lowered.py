"""Programs for tests of the static witness: what it finds in them, and what their comments (`#! <kind>`) say it must find."""

from __future__ import annotations

import re
from textwrap import dedent, indent

from amplint.lowering.graphs import Graphs
from amplint.model.event_graph import Function
from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

_SETUP = """
import contextlib
import functools
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
scaler = torch.amp.GradScaler("cuda")
"""

Marks = set[tuple[int, str]]
"""Pairs of row and kind of hazard."""


def file_of(code: str) -> File:
    """A module as rules get to see it."""
    return File(Tree(Source("test.py", dedent(code))), (2, 3))


def in_loop(body: str, *, before: str = "", after: str = "") -> str:
    """A module that trains: `body` is what an iteration does after the loss has been computed in a region."""
    return (
        f"{_SETUP}{dedent(before)}\n\ndef train(loader, args, **options):\n"
        "    for step, batch in enumerate(loader):\n"
        "        optimizer.zero_grad()\n"
        '        with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):\n'
        "            loss = model(batch).mean()\n"
        f"{indent(dedent(body), ' ' * 8)}\n{indent(dedent(after), ' ' * 4)}\n"
    )


def found(code: str) -> Marks:
    """The hazards of a module."""
    file = file_of(code)
    return {(file.range(each.node).start.row, each.hazard.kind) for each in file.analysis.hazards}


def marked(code: str) -> Marks:
    """What the comments of a module say."""
    rows = enumerate(dedent(code).splitlines(), start=1)
    return {(row, kind) for row, line in rows for kind in re.findall(r"#! ([a-z0-9-]+)", line)}


def kinds(code: str) -> list[str]:
    """The kinds of the hazards of a module, in source order."""
    return [kind for _, kind in sorted(found(code))]


def graphs(code: str) -> dict[str, Function]:
    """The graphs of a module by the plain names of its functions."""
    made = Graphs(file_of(code).analysis.program)
    return {key.partition("@")[0]: made.of(key) for key in made.program.definitions}
