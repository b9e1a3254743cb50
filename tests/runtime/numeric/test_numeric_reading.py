"""What of an expression around a numeric finding is read, and what is named as not read."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from numeric_replays import ENTROPY, findings, loop, outcome

from amplint.model.observables import NON_FINITE
from amplint.model.torch import operators
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, REFUTED
from amplint.source import Source

# -- the closed list ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        ("p = torch.sigmoid(logits)\nloss = (-torch.log(p + 1e-8) * smooth(p)).mean()", "smooth"),
        ("p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-8).mean() + p.register_hook(print)", "p.register_hook"),
        ("p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-8).mean() / p.max().tolist()", "p.max().tolist"),
        ("p = torch.sigmoid(logits)\nw = torch.linalg.svd(p + 1)\nloss = (torch.log(p + 1e-8) * w).sum()", "torch.linalg.svd"),
        ("p = torch.sigmoid(logits)\nloss = (torch.log(p + 1e-8) * p.apply_(abs)).mean()", "p.apply_"),
    ],
)  # fmt: skip
def test_what_is_not_listed_is_named(loss: str, named: str) -> None:
    found = outcome(loop(loss))
    assert (found.verdict, found.reason) == (NOT_REPLAYABLE, named)


def test_what_is_not_listed_further_on_does_not_matter() -> None:
    found = outcome(loop("p = torch.sigmoid(logits)\nentropy = -torch.log(p + 1e-8).mean()\nloss = smooth(entropy)"))
    assert found.verdict == CONFIRMED


def test_a_number_that_is_read_out_counts_as_a_value_without_a_gradient() -> None:
    found = outcome(loop("p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-8).mean() / (1 + p.max().item())"))
    assert found.verdict == CONFIRMED


def test_the_list_holds_what_the_dtype_flow_knows() -> None:
    from amplint.dtypes import arithmetic
    from amplint.runtime.numeric.operations import CASTS, LAYERS, NAMES, UNMOVED

    known = {op for table in operators.TABLES.values() for op in table}
    known |= arithmetic.FOLLOWED | arithmetic._KEEPING | arithmetic._BETWEEN | set(operators._RANGES)
    with_weights = {op for op in known if op.startswith(("conv", "_conv", "lstm", "gru", "rnn_", "grid_sample"))}
    of_matrices = set("cholesky qr svd triangular_solve geqrf orgqr ormqr inverse pinverse polar".split())
    rare = set(
        "_convolution multi_head_attention fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d stft"
        " view_as_complex rearrange ctc_loss softmax2d native_layer_norm gumbel_softmax".split()
    )
    spelled = {
        "frobenius_norm": "norm", "nuclear_norm": "norm", "linalg_norm": "norm", "linalg_vector_norm": "vector_norm",
        "linalg_matrix_norm": "matrix_norm", "linalg_vecdot": "vecdot", "linalg_multi_dot": "multi_dot",
        "grid_sampler": "", "cross_entropy_loss": "cross_entropy",
    }  # fmt: skip
    missing = {
        op
        for op in known - with_weights - of_matrices - rare
        if spelled.get(op, op) and spelled.get(op, op) not in NAMES | CASTS.keys() | UNMOVED
    }
    assert missing == set()
    assert all(hasattr(torch.nn, name) for name in LAYERS)


def test_every_listed_name_is_one_of_torch() -> None:
    from amplint.runtime.numeric.operations import NAMES, listed

    modules = ("torch", "functional", "special", "linalg", "Tensor")
    unknown = {
        name for name in NAMES if not any(listed(f"{module}.{name}") for module in modules)
    } - {"alpha_dropout", "identity", "fill", "zero", "copy", "glu", "requires_grad_"}  # fmt: skip
    assert not unknown
    assert not listed("torch.load") and not listed("Tensor.apply_") and not listed("Tensor.map_")
    assert not listed("builtins.eval") and not listed("torch.compile") and not listed("Tensor.numpy")


def test_no_author_code_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    mark = f"open({str(trace)!r}, 'w').close()"
    before = f"""
{mark}

class Weighted(nn.Module):
    def __init__(self, weight=[{mark}]):
        super().__init__()
        {mark}

    @property
    def weight(self):
        {mark}
        return 2.0

    def forward(self, p):
        {mark}
        return -torch.log(p * self.weight + 1e-8)

criterion = Weighted()
"""
    text = loop("p = torch.sigmoid(logits)\nloss = criterion(p).mean()", before)
    assert findings(Source("loss.py", text))
    outcome(text)
    assert not trace.exists()


# -- shapes of code ----------------------------------------------------------------------------------------------------

HELPERS = {
    "a helper": (
        "def safe(p, eps=1e-8):\n    return torch.log(p + eps)\n",
        "p = torch.sigmoid(logits)\nloss = -(target * safe(p)).mean()",
    ),
    "a lambda": ("entropy = lambda p: -torch.log(p + 1e-8).mean()\n", "loss = entropy(torch.sigmoid(logits))"),
    "a setting": (
        "class Focal(nn.Module):\n    def __init__(self, gamma=2.0, reduction='mean'):\n        super().__init__()\n"
        "        self.gamma = gamma\n        self.reduction = reduction\n    def forward(self, logits, target):\n"
        "        p = torch.sigmoid(logits)\n        loss = -(p**self.gamma) * torch.log(1 - p)\n"
        "        if self.reduction == 'mean':\n            return loss.mean()\n        elif self.reduction == 'sum':\n"
        "            return loss.sum()\n        return loss\ncriterion = Focal(gamma=1.5)\n",
        "loss = criterion(logits, target)",
    ),
    "an augmented assignment": ("", "p = torch.sigmoid(logits)\np += 1e-8\nloss = -torch.log(p).mean()"),
    "a branch": (
        "",
        "p = torch.sigmoid(logits)\nif x.ndim == 3:\n    loss = p.mean()\nelse:\n    loss = -torch.log(p + 1e-9).mean()",
    ),
    "a conditional": ("", "p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-9).mean() if target is not None else 0"),
    "a list of terms": (
        "",
        "p = torch.sigmoid(logits)\nterms = [-torch.log(p + 1e-9).mean(), (p ** 2).mean()]\nloss = terms[0] + terms[-1]",
    ),
    "a dictionary of terms": (
        "def losses(p):\n    return {'ce': -torch.log(p + 1e-9).mean(), 'l2': p.mean()}\n",
        "terms = losses(torch.sigmoid(logits))\nloss = terms['ce'] + terms['l2']",
    ),
    "a layer": (
        "squash = nn.Sigmoid()\n",
        "p = squash(logits)\nloss = -(target * torch.log(p + 1e-10)).sum(dim=1).mean()",
    ),
    "an island": (
        "",
        "with torch.amp.autocast('cuda', enabled=False):\n    p = torch.sigmoid(logits)\n    loss = -torch.log(p + 1e-8).mean()",
    ),
    "several statements": (
        "",
        "p = torch.sigmoid(logits)\npos = target * torch.log(p + 1e-8)\nneg = (1 - target) * torch.log(1 - p + 1e-8)\n"
        "loss = -(pos + neg)\nloss = loss.view(-1).mean()",
    ),
    "class indices": (
        "",
        "p = torch.sigmoid(logits)\nloss = F.nll_loss(torch.log(p + 1e-8), target)",
    ),
    "flags": ("", "p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-8)[target > 0.5].mean()"),
    "gathered": (
        "",
        "p = torch.sigmoid(logits)\nloss = -torch.log(p.gather(1, target.unsqueeze(1)) + 1e-8).mean()",
    ),
    "a smaller batch": (
        "",
        "a, b = logits.chunk(2, dim=-1)\np = torch.sigmoid(a)\nloss = -(target * torch.log(p + 1e-8)).mean()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", HELPERS)
def test_the_shape_is_read(shape: str) -> None:
    before, loss = HELPERS[shape]
    found = outcome(loop(loss, before))
    assert found.verdict == CONFIRMED, found


def test_a_fix_by_an_island_is_read() -> None:
    text = loop(ENTROPY)
    island = text.replace(
        "            p = torch.sigmoid(logits)\n            loss",
        "            with torch.amp.autocast('cuda', enabled=False):\n                p = torch.sigmoid(logits.float())\n"
        "                loss",
    )
    assert outcome(text, island).verdict == CONFIRMED
    without_cast = island.replace("logits.float()", "logits")  # float16 goes on inside
    assert outcome(text, without_cast).verdict == REFUTED


def test_another_defect_of_the_same_loss_is_held_fixed() -> None:
    loss = "p = torch.sigmoid(logits)\nloss = -torch.log(p + 1e-8).mean() + (logits - 1).exp_().mean()"
    found = outcome(loop(loss))
    assert found.verdict == CONFIRMED
    assert found.reference["overflow behind it"]


def test_an_overflow_on_the_way_to_the_finding_is_left_out() -> None:
    loss = "p = torch.sigmoid(logits * logits - 300 * logits)\nloss = -torch.log(p + 1e-8).mean()"
    found = outcome(loop(loss))
    assert found.verdict == CONFIRMED
    assert found.before[NON_FINITE] and not found.after[NON_FINITE]


# -- what is drawn, and what cannot be read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        "torch.randn(8, 8, generator=target)",
        "torch.randn(size=(8, 8), generator=target, dtype=torch.float16)",
        "torch.rand_like(logits, dtype=torch.float32)",
        "torch.randint(0, 3, (8, 8), generator=target)",
    ],
)
def test_what_is_drawn_from_the_authors_generator_is_drawn(noise: str) -> None:
    found = outcome(loop(f"noise = {noise}\np = torch.sigmoid(logits)\nloss = (-torch.log(p + 1e-8) * noise).mean()"))
    assert "generator" not in found.reason and found.verdict == CONFIRMED, found


def test_what_cannot_be_read_beside_a_value_leaves_the_value() -> None:
    helper = "def losses(p):\n    return -torch.log(p + 1e-8).mean(), smooth(p)\n"
    found = outcome(loop("p = torch.sigmoid(logits)\nloss, other = losses(p)", helper))
    assert found.verdict == CONFIRMED, found


@pytest.mark.parametrize(
    "more", ["q //= 2", "q <<= 2", "q = torch.stack([q, smooth(p)])", "q = {'a': q}[x]", "q &= p > 0"]
)
def test_no_reason_names_an_error_of_amplints_own(more: str) -> None:
    text = loop(f"p = torch.sigmoid(logits)\nq = p * 1\n{more}\nloss = -torch.log(p + 1e-8).mean() + q.mean()")
    again = [outcome(text) for _ in range(2)]
    assert "KeyError" not in again[0].reason
    assert repr(again[0]) == repr(again[1])
