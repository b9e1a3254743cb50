"""Which functions the dtype flow leaves alone: those to which nothing half may come."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest

from amplint.dtypes.idle_functions import idle_functions, lowering
from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

HEADER = """\
import torch
from torch import autocast, float16
"""


def followed(code: str) -> set[str]:
    """The names of the functions in a module that are followed for their own sake."""
    tree = Tree(Source("test.py", HEADER + dedent(code)))
    idle = idle_functions(tree, lowering(File(tree, (2, 3))))
    return {function.name.value for function in tree.find(cst.FunctionDef) if function not in idle}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(x):\n    return x\n", set()),
        ("def f(x):\n    with autocast('cuda'):\n        return x\n", {"f"}),
        ("@autocast('cuda')\ndef f(x):\n    return x\n", {"f"}),
        ("def f(x, on):\n    with autocast('cuda', enabled=on):\n        return x\n", {"f"}),
        ("def f(x):\n    with autocast('cuda', enabled=False):\n        return torch.exp(x)\n", set()),
        ("def f(x):\n    with autocast('cuda', dtype=float16, enabled=False):\n        return x\n", set()),
        ("@autocast('cuda', enabled=False)\ndef f(x):\n    return x\n", set()),
        ("def f(x):\n    with torch.no_grad():\n        return x\n", set()),
        ("def f(x):\n    with autocast('cuda', enabled=False):\n        return x.half()\n", {"f"}),
        ("def f(x):\n    with autocast('cuda', enabled=False):\n        return x.to(float16)\n", {"f"}),
        ("from torch import half as h\ndef f(x):\n    return x.to(h)\n", {"f"}),
        ("def rotate_half(x):\n    'Half of it.'\n    return x\ndef g(x):\n    return rotate_half(x)\n", set()),
        ("def in_half(x):\n    return x.half()\ndef g(x):\n    return in_half(x)\n", {"in_half", "g"}),
        ("class Net:\n    def half(self):\n        pass\ndef g(x):\n    return x.half()\n", {"half", "g"}),
        (
            "def f(x):\n    with autocast('cuda'):\n        return g(x)\n"
            "def g(x):\n    return x\ndef h(x):\n    return f(x)\n",
            {"f", "h"},
        ),
        ("def f(x):\n    return torch.exp(x)\ndef g(x):\n    return x.to('cuda').half()\n", {"g"}),
    ],
)
def test_functions_are_followed_that_lead_to_what_brings_values_to_half(code: str, names: set[str]) -> None:
    assert followed(code) == names
