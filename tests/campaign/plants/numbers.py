"""Numbers that half precision cannot hold: AMP301 to AMP306, AMP309, and the casts of AMP206 and AMP211."""

from __future__ import annotations

import re

import torch

from ..code import Block, Line
from ..planting import marked, plant
from ..probing import HALVES, Sweep
from ..program import Program
from ..scene import Scene
from ..showing import Show

_LOGITS = (0.0, 1e-3, 5.0, 7.0, 9.0, 12.0, 18.0, 30.0, 60.0)
"""What classifiers give, and more: a float16 sigmoid is 1 from 8.32 on, and 0 from -17.34."""
_ZEROS = (0.0, 1.0)
_SIGNS = (5.0,)
_LARGE = (1.0, 12.0, 300.0)
_RANGE = frozenset({"AMP301", "AMP302", "AMP303", "AMP305", "AMP306", "AMP309", "AMP206"})


def spoiled(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether half precision turned numbers into inf, NaN, or an error, or gradients into inf or NaN."""
    return any(probe.spoiled for each in shows for probe in each.probes.values())


def _write(scene: Scene, code: str, *lines: str, sources: tuple[str, ...] = (), no_grad: bool = False) -> None:
    """Marked lines that compute `term` from `out`, in the region or, sometimes, behind it."""
    model = scene.trained[0].model
    given = scene.pick((f"{model}(batch)", f"{model}(batch)", f"run({model}, batch)"))
    if given.startswith("run"):
        scene.functions.append(Block("def run(net, given):", ("return net(given)",)))
    widened = scene.chance(15)
    code_lines: list[Line] = [f"out = {given}{'.float()' if widened else ''}", *sources]
    code_lines += [marked(code, line) for line in lines]
    loss = scene.trained[0].loss
    if no_grad:
        scene.slots.inside += [Block("with torch.no_grad():", tuple(code_lines))]
        return
    scene.slots.inside += [*code_lines, f"{loss} = {loss} + term.float().mean()"]


def _operand(scene: Scene) -> str:
    return scene.pick(("out", "out", "out.float()"))


@plant("AMP301", spoiled, also=_RANGE, sweep=Sweep(_LOGITS))
def exp_log(scene: Scene) -> None:
    """A logarithm or an exponential of what float16 has spoiled."""
    x = _operand(scene)
    eps = scene.pick(("1e-8", "1e-12", "1e-3"))
    expression = scene.pick(
        (
            f"torch.log(torch.sigmoid({x}) + {eps})",
            f"torch.log(1 - torch.sigmoid({x}) + {eps})",
            f"torch.log(torch.sigmoid({x}).clamp(min={eps}))",
            f"(torch.sigmoid({x}) + {eps}).log()",
            "torch.exp(out.clamp(max=5))",
            "torch.exp(torch.tanh(out))",
            "torch.exp(out)",
            "torch.log(torch.softmax(out, dim=-1) + 1e-8)",
            "torch.log1p(torch.relu(out))",
        )
    )
    chance = f"torch.sigmoid({x})"
    if scene.chance(30) and chance in expression:
        term = f"term = -{expression.replace(chance, 'chance')}.mean()"
        _write(scene, "AMP301", f"chance = {chance}", term)
        return
    _write(scene, "AMP301", f"term = -{expression}.mean()")


@plant("AMP302", spoiled, also=_RANGE, sweep=Sweep(_ZEROS))
def eps(scene: Scene) -> None:
    """An epsilon on what is zero in float16, where no gradient is recorded."""
    x = _operand(scene)
    small = scene.pick(("1e-8", "1e-12", "1e-4"))
    expression = scene.pick(
        (
            f"out / ({x}.std(dim=-1, keepdim=True) + {small})",
            f"out / ({x}.abs().max(dim=-1, keepdim=True).values + {small})",
            f"out / {x}.abs().mean(dim=-1, keepdim=True).clamp(min={small})",
            f"torch.relu(out) / ({x}.abs() + {small})",
            f"out / ({x}.sum(dim=-1, keepdim=True).abs() + {small})",
            f"out / ({x}.norm(dim=-1, keepdim=True) + {small})",
            f"torch.rsqrt({x}.abs() + {small})",
        )
    )
    _write(scene, "AMP302", f"term = {expression}", no_grad=True)


@plant("AMP303", spoiled, also=_RANGE, sweep=Sweep(_SIGNS))
def constant(scene: Scene) -> None:
    """A mask, or a bound, beyond 65504."""
    low = scene.pick(("-1e9", "-1e10", "-1e4", "torch.finfo(out.dtype).min"))
    expression = scene.pick(
        (
            f"out.masked_fill(out > 0, {low}).softmax(dim=-1)",
            f"torch.where(out > 0, out, {low}).softmax(dim=-1)",
            f"torch.clamp(out, min={low})",
            f"torch.softmax(out.masked_fill(out < 1, {low}), dim=-1)",
            f"torch.full_like(out, {low}).softmax(dim=-1)",
        )
    )
    _write(scene, "AMP303", f"term = {expression}")


@plant("AMP305", spoiled, also=_RANGE, sweep=Sweep(_LOGITS, torch.float64, 1e-4))
def log_of(scene: Scene) -> None:
    """The logarithm of a softmax or a sigmoid, spelled out or fused."""
    expression = scene.pick(
        (
            "torch.log(torch.sigmoid(out))",
            "torch.nn.functional.logsigmoid(out)",
            "torch.log(torch.softmax(out, dim=-1))",
            "torch.log_softmax(out, dim=-1)",
            "out.softmax(dim=-1).log()",
            "torch.logsumexp(out, dim=-1)",
        )
    )
    _write(scene, "AMP305", f"term = -{expression}.mean()")


@plant("AMP306", spoiled, also=_RANGE, sweep=Sweep(_LARGE))
def in_place(scene: Scene) -> None:
    """An operation in place, or not."""
    lines = scene.pick(
        (
            ("out.pow_(2)", "term = out"),
            ("term = out.pow(2)",),
            ("out **= 2", "term = out"),
            ("out = out ** 2", "term = out"),
            ("out.tanh_()", "term = out"),
            ("out.relu_()", "term = out"),
        )
    )
    _write(scene, "AMP306", *lines, no_grad=True)


@plant("AMP309", spoiled, also=_RANGE, sweep=Sweep(_LARGE))
def square(scene: Scene) -> None:
    """A tensor times itself, or its power."""
    expression = scene.pick(
        ("out * out", "out ** 2", "torch.square(out)", "torch.mul(out, out)", "torch.tanh(out) * torch.tanh(out)")
    )
    _write(scene, "AMP309", f"term = ({expression}).mean()")


@plant("AMP206", spoiled, also=_RANGE, sweep=Sweep((*_LARGE, 3e4)))
def cast(scene: Scene) -> None:
    """A sum, cast to half by hand or not."""
    narrow = scene.pick((".half()", ".to(torch.float16)", "", ".type(torch.float16)"))
    whole = scene.pick(("out.sum(dim=-1)", "out.abs().sum(dim=-1)", "torch.softmax(out, dim=-1)"))
    _write(scene, "AMP206", f"total = {whole}{narrow}", "term = total / 100")


def _in_half(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether the loss was computed in half precision."""
    return any(probe.dtype in HALVES for each in shows for probe in each.probes.values())


@plant("AMP211", _in_half, sweep=Sweep((1.0,)))
def loss_outside(scene: Scene) -> None:
    """A loss behind the region, or in it."""
    model, loss = scene.trained[0].model, scene.trained[0].loss
    wide = scene.pick(("", "", ".float()"))
    term = scene.pick(
        (
            f"torch.nn.functional.mse_loss(out{wide}, other{wide})",
            f"torch.nn.functional.cross_entropy(out{wide}, torch.zeros(len(out), dtype=torch.long))",
            f"torch.nn.functional.mse_loss(out{wide}, torch.ones(len(out), 1))",
        )
    )
    made = [f"out = {model}(batch)", f"other = {model}(batch)"]
    line: list[Line] = [marked("AMP211", f"term = {term}"), f"{loss} = {loss} + term"]
    scene.slots.inside += made
    if scene.chance(60):
        scene.slots.behind += line
    else:
        scene.slots.inside += line


@plant("AMP304", lambda program, shows: any("unsafe to autocast" in each.error for each in shows))
def cross_entropy(scene: Scene) -> None:
    """`binary_cross_entropy` in a region, on logits, in an island, or behind the region."""
    model, loss = scene.trained[0].model, scene.trained[0].loss
    name = scene.pick(("plain", "module", "logits", "island"))
    chance = "torch.sigmoid(out)" if name != "island" else "torch.sigmoid(out.float())"
    target = "torch.ones(len(out), 1)"
    lines: list[Line] = []
    if name == "module":
        scene.setup.append("criterion = torch.nn.BCELoss()")
        lines = [marked("AMP304", f"term = criterion({chance}, {target})")]
    elif name == "logits":
        lines = [marked("AMP304", f"term = torch.nn.functional.binary_cross_entropy_with_logits(out, {target})")]
    else:
        lines = [marked("AMP304", f"term = torch.nn.functional.binary_cross_entropy({chance}, {target})")]
    if name == "island":
        lines = [Block('with torch.autocast("cuda", enabled=False):', tuple(lines))]
    lines.append(f"{loss} = {loss} + term")
    scene.slots.inside.append(f"out = {model}(batch).clamp(-5, 5).nan_to_num()")
    if name != "island" and scene.chance(25):
        scene.slots.behind += [
            line if not isinstance(line, str) else re.sub(r"\(out\b(?!\.)", "(out.float()", line) for line in lines
        ]
    else:
        scene.slots.inside += lines
