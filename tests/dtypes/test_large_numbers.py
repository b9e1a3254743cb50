"""Which functions a large number may come to: no other one is followed for its sake."""

from __future__ import annotations

from textwrap import dedent

import pytest

from amplint.dtypes import Dtypes
from amplint.dtypes.large_numbers import functions_met
from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

HEADER = """\
import torch
import torch.nn.functional as F
from torch import nn
"""


def met(code: str) -> set[str]:
    """The names of the functions in a module that large numbers may come to."""
    file = File(Tree(Source("test.py", HEADER + dedent(code))), (2, 3))
    return {function.name.value for function in functions_met(file)}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(x):\n    return x\n", set()),
        ("def f(x):\n    print(-1e9)\ndef g(x):\n    return x\n", {"f"}),
        ("BIG = -1e9\ndef f(x):\n    return x + BIG\ndef g(x):\n    return x\n", {"f"}),
        ("def big():\n    return 1e9\ndef f(x):\n    return x + big()\ndef g(x):\n    return x\n", {"big", "f"}),
        ("def f(x, low=-1e9):\n    return x + low\ndef g(x):\n    return x\n", {"f"}),
        (
            "def f(x, value):\n    return x + value\ndef g(x):\n    return f(x, 1e9)\ndef h(x):\n    return x\n",
            {"f", "g"},
        ),
        ("def f(x, value):\n    return x + value\ndef g(x):\n    return f(x, value=1e9)\n", {"f", "g"}),
        ("def f(x, value):\n    return x + value\ndef g(x):\n    return f(x, *[1e9])\n", {"f", "g"}),
        ("for big in (1e8, 1e9):\n    pass\ndef f(x):\n    return x + big\n", {"f"}),
        ("LIMITS = []\nLIMITS.append(1e9)\ndef f(x):\n    return x + LIMITS[0]\n", {"f"}),
        ("LIMITS = {'low': -1e9}\ndef f(x):\n    return x + LIMITS['low']\n", {"f"}),
        ("BIG = torch.tensor(1e9)\ndef f(x):\n    return x + BIG\n", {"f"}),
        ("BIG = 300 ** 2\ndef f(x):\n    return x + BIG\n", {"f"}),
        ("ROOT = 300 ** -0.5\ndef f(x):\n    return x * ROOT\n", set()),
        ("F = 1 / 10000 ** (torch.arange(0, 8, 2).float() / 8)\ndef f(x):\n    return x * F\n", set()),
        ("N = 2 ** levels\nF = torch.arange(N)\ndef f(x):\n    return x * F\n", set()),
        ("F = torch.arange(2.0) * -1e9\ndef f(x):\n    x += F\n    return x\n", {"f"}),
        ("pick = lambda: 1e9\ndef f(x):\n    return x + pick()\n", {"f"}),
    ],
)
def test_numbers_are_followed_by_the_names_they_are_given(code: str, names: set[str]) -> None:
    assert met(code) == names


def test_what_an_object_holds_is_met_by_its_methods_and_by_who_calls_them() -> None:
    code = """\
    class Mask(nn.Module):
        def __init__(self, low):
            super().__init__()
            self.low = low

        def forward(self, x):
            return x + self.low

        def size(self):
            return 3

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = Mask(-1e9)
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            return self.mask(self.linear(x))

        def name(self):
            return "model"
    """
    assert met(code) == {"__init__", "forward"}


def test_a_number_given_to_an_object_comes_to_its_forward() -> None:
    code = """\
    class Fill(nn.Module):
        def forward(self, x, value):
            return x + value

        def other(self, x):
            return x

    def f(fill, x):
        return fill(x, 1e9)
    """
    assert met(code) == {"forward", "f"}


def test_a_number_that_a_tensor_is_filled_with_goes_no_further() -> None:
    code = """\
    def filled(x, mask):
        return x.masked_fill(mask, torch.finfo(x.dtype).min)

    def bounded(x):
        bound = torch.finfo(x.dtype).max - 1000
        return torch.clamp(x, min=-bound, max=bound)

    def use(x, mask):
        return bounded(filled(x, mask))
    """
    assert met(code) == {"filled", "bounded"}


def test_a_constant_beside_a_layer_is_found_wherever_it_comes_from() -> None:
    code = """\
    class Scores(nn.Module):
        def __init__(self):
            super().__init__()
            self.low = -1e9
            self.linear = nn.Linear(8, 8)

        def forward(self, x, mask):
            return self.linear(x).masked_fill(mask, self.low)

        def plain(self, x):
            return self.linear(x)
    """
    (use,) = File(Tree(Source("test.py", HEADER + dedent(code))), (2, 3)).fact(Dtypes).constants_if_lowered
    assert use.value == -1e9
