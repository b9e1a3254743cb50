"""An epsilon added to a float16 tensor, or clamped on it, rounds to zero.

## What it does
Flags constants of at most 2**-25 (2.98e-8) that are added to a tensor, or are its lower bound, if the tensor was
computed in float16: `std + 1e-8`, `var.add(1e-12)`, `x.clamp(min=1e-10)`.

## Why it matters
The smallest number above zero that float16 holds is 5.96e-8; what is at most half of it rounds to 0. Your epsilon is
there for the moment at which the tensor is 0, and at that moment it is gone: `x / (x + 1e-8)` is nan, `log` is -inf,
`rsqrt` is inf, and so is the gradient of `sqrt`. 3e-8 and more survive; where you divide by the sum, and 1/x has to
stay finite in float16, it takes 1.53e-5.

`mean`, `std`, `var`, `max` and the arithmetic of tensors stay in float16 under autocast. `sum`, `norm`, `softmax`,
`exp`, `log` and `pow` give float32 on CUDA, so an epsilon behind them is kept, and silent.

## Example
```python
import torch
from torch import nn

@torch.no_grad()
def embed(loader):
    net = nn.Linear(64, 64).cuda()
    for x in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            h = net(x)
            yield h / (h.std(dim=-1, keepdim=True) + 1e-8)
```

## Use instead
```python
import torch
from torch import nn

@torch.no_grad()
def embed(loader):
    net = nn.Linear(64, 64).cuda()
    for x in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            h = net(x)
            yield h / (h.float().std(dim=-1, keepdim=True) + 1e-8)
```

## Fix safety
`.float()` on the innermost operand keeps the epsilon. Safe where no gradient is recorded, and under a square root whose
gradient at zero float16 still holds. Unsafe elsewhere: behind a division by `std + 1e-8` the gradient is up to 1e8, and
infinite once it is cast back to float16; there you want a larger epsilon as well. You get no fix for in-place forms,
where a tensor without dimensions is the divisor, which does not widen the result, and for a bound that is divided by in
training, beside which the gradient overflows all the same.

## Limitations
A value is taken for float16 only where the project shows it: layers and matrix products inside a region, that of a
caller in another file included, and a sigmoid of what a model gives back. Code that switches autocast off for a part
of a function is taken to run under it otherwise, if the project trains under float16 autocast. An epsilon in front of
a logarithm in a loss is left to `exp-log-in-loss` (AMP301). bfloat16 holds all epsilons used in practice.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import SAFE, UNSAFE, Fix, NoFix
from amplint.dtypes import ConstantEffect, ConstantUse, Dtypes
from amplint.model.literals import constant_text
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import FLOAT16, LIMITS
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.float16_words import VANISHING
from ._support.float32_operands import innermost, widened

_HALF = LIMITS[FLOAT16]
_FAR = 2.0**10
"""What is always so many times its epsilon, or more, does not depend on it."""


@rule(
    "AMP302",
    "eps-underflow",
    WARNING,
    HIGH,
    "0.1.0",
    fix=SAFE,
    entered=r"[eE]-(?:0?[89]|[1-9]\d)",
    observable=Observable(NON_FINITE),
)
def check(file: File) -> Iterator[Finding]:
    told = {each.operand.lost.node for each in file.fact(Dtypes).loss_hazards if each.operand.lost is not None}
    for constant in file.fact(Dtypes).constants:
        if _vanishes(constant) and constant.operation.node not in told:
            yield _finding(file, constant)


def _vanishes(constant: ConstantUse) -> bool:
    if (
        constant.use not in (ConstantEffect.ADDED, ConstantEffect.LOWER)
        or not 0 < abs(constant.value) <= _HALF.vanishing
    ):
        return False
    # What goes through a sigmoid has left a linear layer or a convolution: half, if the outputs of the model are.
    sure = constant.operand.sure or constant.operand.saturated is not None
    return sure and constant.operand.low < _FAR * abs(constant.value)


def _finding(file: File, constant: ConstantUse) -> Finding:
    eps = constant_text(file.tree.text(constant.node) if constant.node is not None else "", constant.value)
    fix = _fix(file, constant)
    note = f"float16 rounds constants up to {VANISHING} to 0, so this one guards against nothing"
    if fix is not None and fix.applicability is UNSAFE:
        note += "; 1e-4 would also keep the gradient finite"
    message = f"The epsilon `{eps}` rounds to 0 when it is added to a float16 tensor"
    if constant.use is ConstantEffect.LOWER:
        message = f"The lower bound `{eps}` rounds to 0 when a float16 tensor is clamped"
    needs = file.fact(Dtypes).needs(constant.operation)
    return Finding(
        file.range(constant.operation.node),
        message,
        note,
        file.fact(Dtypes).origin(constant.operation, constant.operand),
        fix or NoFix("the operand cannot be cast in this place"),
        needs,
    )


def _fix(file: File, constant: ConstantUse) -> Fix | None:
    node = constant.operand_node
    if node is None or constant.operation.in_place:
        return None
    fits = _gradient_fits(file, constant)
    beyond_cure = constant.operand.zero_dim or (constant.use is ConstantEffect.LOWER and not fits)
    if beyond_cure and _divides(file, constant):
        return None
    applicability = SAFE if fits else UNSAFE
    return widened(file, [innermost(constant.operand, node)], applicability)


def _divides(file: File, constant: ConstantUse) -> bool:
    """Whether something is divided by the guarded value as it is."""
    node = constant.operation.node
    users = file.fact(Dtypes).users(node)
    return any(each.op == "div" and each.arguments.tensors[-1].made is node for each in users)


def _gradient_fits(file: File, constant: ConstantUse) -> bool:
    """Whether float16 holds the gradient of the operand, also where the operand is zero."""
    if not constant.operation.differentiates or constant.operand.detached:
        return True
    users = file.fact(Dtypes).users(constant.operation.node)
    slope = 0.5 / constant.value**0.5 if constant.value > 0 else float("inf")
    roots = [each for each in users if each.op == "sqrt"]
    inverted = any(
        after.op == "div" and after.arguments.tensors[-1].made is root.node
        for root in roots
        for after in file.fact(Dtypes).users(root.node)
    )
    return bool(users) and len(roots) == len(users) and not inverted and slope <= _HALF.largest
