"""Reads the dtype flow of small modules."""

from __future__ import annotations

from textwrap import dedent, indent

from amplint.dtypes import Dtypes, Operation, Tensor
from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

HEADER = """\
import math

import torch
import torch.nn.functional as F
from torch import nn
"""
_SETUP = "lin = nn.Linear(8, 8)\nparam = nn.Parameter(torch.ones(8))\ndata = load()\n"


def flow(code: str) -> Dtypes:
    """The flow of a module that imports torch the usual way."""
    return File(Tree(Source("test.py", HEADER + dedent(code))), (2, 3)).fact(Dtypes)


def logged(code: str, region: str = 'torch.autocast("cuda", dtype=torch.float16)') -> Tensor:
    """What the one `torch.log` of some statements meets, inside a region and with layers at hand."""
    found = operations(flow(f"{_SETUP}with {region}:\n{indent(dedent(code), '    ')}"), "log")
    assert len(found) == 1
    return found[0].operand


def operations(dtypes: Dtypes, op: str) -> list[Operation]:
    """The evaluations of one kind of operation."""
    return [operation for operation in dtypes.operations if operation.op == op]


def in_loss(dtypes: Dtypes, operation: Operation) -> bool:
    """Whether a gradient that starts at a loss flows through an operation."""
    return operation in dtypes._flow.reached


def logged_in_call(code: str) -> Tensor:
    """What `torch.log` meets in a function, as the last call of it gives its arguments."""
    region = 'with torch.autocast("cuda", dtype=torch.float16):\n'
    return operations(flow(f"{_SETUP}{region}{indent(dedent(code), '    ')}"), "log")[0].operand
