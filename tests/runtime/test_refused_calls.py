"""Calls that PyTorch refuses, told from its signatures."""

from __future__ import annotations

import pytest

from amplint.rule import File
from amplint.source import Source
from amplint.syntax.tree import Tree

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.refused_calls import newly_refused

HEAD = "import torch\nfrom torch import nn\n"


def file(*calls: str) -> File:
    return File(Tree(Source("net.py", HEAD + "".join(f"{call}\n" for call in calls))), torch=(2, 3))


@pytest.mark.parametrize(
    "call",
    [
        "torch.autocast(dtype=torch.float16)",
        "nn.Linear(32)",
        "nn.utils.clip_grad_norm_(net.parameters())",
        "nn.utils.clip_grad_norm_(1.0, net.parameters())",
        "nn.functional.mse_loss(net(x))",
    ],
)
def test_what_lacks_an_argument_or_is_given_a_number_instead_is_refused(call: str) -> None:
    (error,) = newly_refused(file(), file(call))
    assert error.startswith("TypeError: torch.")
    assert newly_refused(file(call), file(f"{call}  # twice")) == [], "it was so before"


@pytest.mark.parametrize(
    "call",
    [
        'torch.autocast("cuda")',
        "torch.autocast(*given)",
        "nn.Linear(32, out_features=4)",
        "torch.optim.SGD(net.parameters(), 0.1, of_a_later_version=True)",
        "nn.utils.clip_grad_norm_(net.parameters(), 1)",
        "torch.relu()",
        "linear(32)",
    ],
)
def test_what_torch_takes_or_nobody_can_tell_is_not(call: str) -> None:
    assert newly_refused(file(), file(call)) == []
