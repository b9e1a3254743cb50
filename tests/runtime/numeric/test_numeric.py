"""Numeric findings: the expression around them is computed, as it stands and with the fix, where half gives out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from checkout import ROOT

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix
from amplint.engine.fixer import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.model.observables import NON_FINITE, VALUE_ERROR, Observable
from amplint.model.torch import operators
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, Outcome
from amplint.source import Source

RULE = next(rule for rule in load_rules() if rule.code == "AMP301")
EMULATED = "cuda-emulated"
FLAGGED = [
    path
    for path in sorted(ROOT.glob("fixtures/amp301_*/flagged_*.py"))
    if path.with_suffix(".fixed.py").exists()
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)  # the order of sums decides the last digits


def findings(source: Source) -> list[Diagnostic]:
    return [each for each in lint_source(source, [RULE]).diagnostics if each.fix is not None]


def outcome(text: str, after: str | None = None, device: str = EMULATED, seed: int = 0) -> Outcome:
    """The outcome of the first finding in a text; `after` stands for the text with its fix."""
    source = Source("loss.py", text)
    diagnostic = findings(source)[0]
    fixed = apply(source, [diagnostic])[0] if after is None else after
    return replay(source, Source("loss.py", fixed), diagnostic, RULE, device, seed)


def loop(loss: str, before: str = "", dtype: str = "torch.float16", device: str = "cuda") -> str:
    """A training loop with some statements about `logits`, `target`, and at last `loss`."""
    body = "\n            ".join(loss.splitlines())
    return f"""\
import math
import torch
import torch.nn.functional as F
from torch import nn
from elsewhere import smooth
{before}

def train(loader, optimizer, scaler):
    model = nn.Linear(8, 8).cuda()
    for x, target in loader:
        with torch.amp.autocast("{device}", dtype={dtype}):
            logits = model(x)
            {body}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


ENTROPY = "p = torch.sigmoid(logits)\nloss = -(target * torch.log(p + 1e-8)).mean()"


@pytest.mark.parametrize("path", FLAGGED, ids=lambda path: path.stem)
def test_the_fixes_of_all_fixtures_are_confirmed(path: Path) -> None:
    source = Source.from_bytes(str(path), path.read_bytes())
    for diagnostic in findings(source):
        fixed, _ = apply(source, [diagnostic])
        found = replay(source, Source(str(path), fixed), diagnostic, RULE, EMULATED, 0)
        assert found.verdict == CONFIRMED, found
        assert found.before[NON_FINITE] and not found.after[NON_FINITE]
        assert found.axis is not None
        lengths = {len(found.axis.places), *map(len, found.series.values())}
        assert len(lengths) == 1 and lengths != {0}


def test_the_numbers_are_those_of_float16() -> None:
    found = outcome(loop(ENTROPY))
    assert found.axis is not None and found.axis.name == "value of `model(x)`"
    at = dict(zip(found.axis.places, zip(*(found.series[name] for name in ("before", "after", "reference")))))
    before, after, reference = at[-18.0]  # where sigmoid is 1.5e-8, and 0 in float16
    assert not math.isfinite(before) and after == pytest.approx(reference, rel=1e-4)
    assert at[-16.0][0] == pytest.approx(at[-16.0][2], rel=0.1)


def test_the_same_seed_gives_the_same_outcome() -> None:
    first, second = outcome(loop(ENTROPY), seed=3), outcome(loop(ENTROPY), seed=3)
    assert repr(first) == repr(second)  # where nothing is equal to nan


# -- fixes that do not help --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("torch.log(p + 1e-8)", "torch.log((p + 1e-8).float())"),  # after the epsilon is lost
        ("torch.log(p + 1e-8)", "torch.log(1e-8 + p)"),
        ("torch.log(p + 1e-8)", "torch.log(p + 1e-9)"),
    ],
)
def test_a_fix_that_does_not_help_is_refuted(written: str, instead: str) -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace(written, instead))
    assert found.verdict == REFUTED
    assert "finite value or gradient" in found.reason and found.after[NON_FINITE]


def test_what_a_fix_leaves_of_the_defect_is_named() -> None:
    text = loop(ENTROPY)
    found = outcome(
        text, text.replace("torch.log(p + 1e-8)", "torch.log(p.float() + 1e-8)")
    )  # after the sigmoid was rounded
    assert (found.verdict, found.remains) == (PARTLY, ("the finite gradient at 20 points",))


def test_nothing_in_the_place_of_what_is_not_finite_is_no_fix() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("torch.log(p + 1e-8)", "torch.nan_to_num(torch.log(p + 1e-8), neginf=0.0)"))
    assert found.verdict == REFUTED


def test_a_fix_that_makes_other_points_non_finite_is_refuted() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("torch.sigmoid(logits)", "1 / (1 + torch.exp(-logits.half() * 8))"))
    assert found.verdict == REFUTED


def test_a_fix_that_raises_is_refuted() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text.replace("p + 1e-8)", "F.binary_cross_entropy(p, target))"))
    assert found.verdict == REFUTED
    assert "unsafe to autocast" in str(found.after["error raised"])


def test_what_is_proved_is_the_text_that_is_written() -> None:
    text = loop(ENTROPY)
    found = outcome(text, text)
    assert found.verdict == REFUTED and found.before == found.after


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


# -- devices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "device"), [("cuda", "cpu"), ("mps", EMULATED)])
def test_another_table_of_autocast_proves_nothing(written: str, device: str) -> None:
    text = loop(ENTROPY, device=written)
    found = outcome(text, device=device)
    assert (found.verdict, found.reason) == (NOT_OBSERVABLE, f"the code is for {written!r}")


def test_code_for_the_cpu_is_proved_there() -> None:
    found = outcome(loop("loss = torch.exp(logits).mean()", device="cpu"), device="cpu")
    assert found.verdict == CONFIRMED


# -- other rules -------------------------------------------------------------------------------------------------------


def proved(text: str, piece: str, instead: str, measure: str = NON_FINITE, safe: bool = True) -> Outcome:
    """The outcome of a finding about a piece of a text, with a fix that puts something else there."""
    source = Source("any.py", text)
    start = text.index(piece)
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    fix = Fix("Replace", (Edit(start, start + len(piece), instead),), applicability)
    diagnostic = Diagnostic("AMP999", "any", "any", source.range(start, start + len(piece)), fix=fix, path="any.py")
    rule = replace(RULE, code="AMP999", name="any", observable=Observable(measure))
    return replay(source, Source("any.py", apply(source, [diagnostic])[0]), diagnostic, rule, EMULATED, 0)


@pytest.mark.parametrize(
    ("loss", "piece", "instead"),
    [
        ("loss = (logits * logits).mean()", "logits * logits", "logits ** 2"),
        ("s = logits.masked_fill(target == 0, -1e9)\nloss = s.softmax(-1).mean()", "-1e9", "torch.finfo(logits.dtype).min"),
        ("s = torch.where(target > 0, logits, -1e9)\nloss = s.softmax(-1).mean()", "-1e9", "-1e4"),
        ("s = logits * 1\ns[target > 0] = -1e9\nloss = s.softmax(-1).mean()", "s[target > 0] = -1e9", "s[target > 0] = -1e4"),
        (
            "loss = F.binary_cross_entropy(torch.sigmoid(logits), target)",
            "F.binary_cross_entropy(torch.sigmoid(logits), target)",
            "F.binary_cross_entropy_with_logits(logits, target)",
        ),
        ("loss = torch.log(torch.softmax(logits, -1)).mean()", "torch.log(torch.softmax(logits, -1))", "logits.log_softmax(-1)"),
        ("e = logits * 1\ne.exp_()\nloss = e.mean()", "e.exp_()", "e = e.exp()"),
        ("e = logits * 1\ntorch.exp(e, out=e)\nloss = e.detach().mean()", "torch.exp(e, out=e)", "e = torch.exp(e)"),
        ("h = F.layer_norm(logits, (8,))\nloss = (h * 1e5).half().mean()", "(h * 1e5).half()", "(h * 1e5)"),
        ("n = int(logits.shape[0] / 2)\nloss = (logits[:n] * logits[:n]).mean()", "logits[:n] * logits[:n]", "logits[:n] ** 2"),
    ],
)  # fmt: skip
def test_the_numbers_of_other_rules_are_served(loss: str, piece: str, instead: str) -> None:
    text = loop(loss)
    if "out=" in piece:  # which torch refuses where gradients are recorded
        text = text.replace("with torch.amp", "with torch.no_grad(), torch.amp")
    found = proved(text, piece, instead)
    assert found.verdict == CONFIRMED, found


def test_digits_may_be_what_is_at_stake() -> None:
    text = loop("pass", dtype="torch.bfloat16")
    text = text.replace("        scaler.scale", "        loss = F.cross_entropy(logits, target)\n        scaler.scale")
    found = proved(text, "F.cross_entropy(logits, target)", "F.cross_entropy(logits.float(), target)", VALUE_ERROR)
    assert found.verdict == CONFIRMED
    assert found.measure == VALUE_ERROR
    assert found.before[VALUE_ERROR] > 1e-3 > 1e-5 > found.after[VALUE_ERROR]  # type: ignore[operator]
    finite_only = proved(text, "F.cross_entropy(logits, target)", "F.cross_entropy(logits.float(), target)")
    assert finite_only.verdict == NOT_OBSERVABLE


def test_an_unsafe_fix_may_leave_gradients_that_half_cannot_hold() -> None:
    text = loop("scale = logits.abs().amax(-1, keepdim=True).clamp(min=1e-12)\nloss = (logits / scale).mean()")
    piece, instead = "logits.abs().amax(-1, keepdim=True)", "logits.abs().amax(-1, keepdim=True).float()"
    unsafe, safe = (proved(text, piece, instead, safe=each) for each in (False, True))
    assert (unsafe.verdict, safe.verdict) == (CONFIRMED, REFUTED)
    assert unsafe.reference["gradient beyond half"] == unsafe.after[NON_FINITE]


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


# -- what else a repair may do -----------------------------------------------------------------------------------------

TERMS = "p = torch.sigmoid(logits)\nseen = p.mean()\nloss = -(target * torch.log(p + 1e-8)).mean() + 0.1 * (logits @ x).mean()"
MENDED = "torch.sigmoid(logits.float())"


@pytest.mark.parametrize(
    ("written", "instead", "reason"),
    [
        ("-(target * torch.log", "(target * torch.log", "is not what is meant"),
        ("target * torch", "torch", "is not what is meant"),
        ("-(target", "-0 * (target", "is not what is meant"),
        ("-(target", "-2 * (target", "is not what is meant"),
        (MENDED, f"{MENDED}.detach()", "is not what is meant"),
        (MENDED, "torch.softmax(logits.float(), -1)", "is not what is meant"),
        (MENDED, "torch.sigmoid(-logits.float())", "is not what is meant"),
        (" + 0.1 * (logits @ x).mean()", "", "is not what is meant"),
        ("p + 1e-8", "p + 1e-2", "is not what is meant"),
        ("0.1 * (logits", "0.2 * (logits", "is not what is meant"),
        ('torch.amp.autocast("cuda", dtype=torch.float16)', 'torch.amp.autocast("cuda", enabled=False)', "the region, which is"),
        ("        scaler.step(optimizer)\n", "", "the step of an optimizer is lost"),
        ("        scaler.step(optimizer)\n", "        optimizer.step()\n", "step-bypasses-scaler"),
        ("        scaler.update()\n", "", "missing-update"),
        ("        scaler.scale(loss).backward()\n", "        loss.backward()\n", "the scale of the loss is lost"),
        ("        scaler.scale(loss).backward()\n", "", "the backward pass is lost"),
    ],
)  # fmt: skip
def test_a_fix_that_changes_what_is_computed_is_refuted(written: str, instead: str, reason: str) -> None:
    text = loop(TERMS)
    fixed = text.replace("torch.sigmoid(logits)", MENDED)
    assert outcome(text, fixed).verdict == CONFIRMED
    found = outcome(text, fixed.replace(written, instead))
    assert found.verdict == REFUTED and reason in found.reason, found


@pytest.mark.parametrize(
    ("written", "instead", "named"),
    [
        ("seen = p.mean()", "seen = p.sum()", "seen"),
        ("        scaler.scale(", "        if loss < 9:\n            scaler.scale(", "loss < 9"),
        ("for x, target in loader:", "for x, target in loader[1:]:", "for x, target in loader[1:]:"),
        ("    for x, target", "    optimizer.lr = 0\n    for x, target", "optimizer.lr"),
    ],
)  # fmt: skip
def test_what_a_fix_does_beyond_the_expression_is_named(written: str, instead: str, named: str) -> None:
    text = loop(TERMS)
    found = outcome(text, text.replace("torch.sigmoid(logits)", MENDED).replace(written, instead))
    assert found.verdict == NOT_REPLAYABLE and named in found.reason, found


def test_a_region_for_the_loss_alone_leaves_the_model_in_half() -> None:
    text = loop("p = torch.sigmoid(logits)\nloss = -(target * torch.log(p + 1e-8)).mean()")
    body = "            p = torch.sigmoid(logits)\n            loss"
    region = "            with torch.amp.autocast('cuda', enabled=False):\n"
    island = f"{region}                p = torch.sigmoid(logits.float())\n                loss"
    assert outcome(text, text.replace(body, island)).verdict == CONFIRMED
    everything = text.replace('torch.amp.autocast("cuda", dtype=torch.float16)', "torch.no_grad()")
    assert outcome(text, everything).verdict == REFUTED


@pytest.mark.parametrize(
    "mask", ["mask[:, None, None, :] == 0", "~mask[:, None, None, :]", "mask.unsqueeze(1).unsqueeze(2) == 0"]
)
def test_the_masks_of_attention_are_read(mask: str) -> None:
    scores = f"scores = logits @ x.transpose(-2, -1)\nscores = scores.masked_fill({mask}, -1e9)\n"
    text = loop(scores + "loss = (scores.softmax(-1) @ x).mean()").replace("x, target in", "x, target, mask in")
    found = proved(text, "-1e9", "torch.finfo(scores.dtype).min")
    assert found.verdict == CONFIRMED, found
    assert proved(text, "-1e9", "0").verdict == REFUTED
    assert proved(text, "-1e9", "torch.finfo(scores.dtype).max").verdict == REFUTED


@pytest.mark.parametrize("mask", ["full", "full == 0", "target > 3"])
def test_no_target_falls_on_a_masked_class(mask: str) -> None:
    body = f"scores = logits.masked_fill({mask}, -1e9)\nloss = F.cross_entropy(scores, target)"
    text = loop(body).replace("x, target in", "x, target, full in")
    found = proved(text, "-1e9", "torch.finfo(logits.dtype).min")
    assert found.verdict == CONFIRMED, found
