"""An exponential or a logarithm in a loss has an operand that float16 has already spoiled.

## What it does
Flags `exp`, `log`, `pow` and their relatives in a loss under a float16 autocast region if the operand was computed in
float16 and comes near the values at which the result, or the gradient, is infinite.

## Why it matters
CUDA's autocast runs these operations in float32, so it is not the `log` that makes your loss NaN. It is what you give
it:

- a float16 sigmoid is exactly 1 from x = 8.32 on and exactly 0 below -17.34, so `log(1 - p)` becomes -inf and its
  gradient nan;
- an epsilon of up to 2.98e-8, added to a float16 tensor or clamped on it, rounds to 0 and guards nothing;
- the gradient is cast back to the float16 of the operand: 1/x is infinite below 1.53e-5, and the gradient of `exp` from
  11.09 on, although the loss itself is still finite. The scaler then skips the step;
- outside of a region, under CPU autocast, and in forms that autocast does not know (`exp_`, `exp2`, `logit`) the
  operation itself runs in float16, where `exp` overflows above 11.09.

That is also why `.float()` on the finished probability does not help: it comes too late. bfloat16 has the range of
float32, so its regions are silent.

## Example
```python
import torch
from torch import nn

def train(loader, optimizer, scaler):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
    for images, labels in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            p = torch.sigmoid(model(images))
            loss = -(labels * torch.log(p + 1e-8)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch
from torch import nn

def train(loader, optimizer, scaler):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
    for images, labels in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            p = torch.sigmoid(model(images).float())
            loss = -(labels * torch.log(p + 1e-8)).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe where float16 spoils a sigmoid: the fix puts `.float()` on its argument, before any epsilon or `1 - p`, and the
gradient that is cast back there is at most 1. Unsafe where widening saves the value and not the gradient (an epsilon
beside other operands, an `exp` that runs in float16): there you want a larger epsilon or a bound as well. Unsafe, too,
where the model comes from elsewhere, so that its output is only likely to be float16. Where only the gradient overflows
no cast helps, and you get no fix: clamp the operand, or compute the layer that makes it in a disabled region.

## Limitations
A value is taken for float16 only where the project shows it: layers and matrix products inside the region, a sigmoid
of what a model from elsewhere gives back, and what callers in other files hand over. Parameters of functions that
nothing in the project calls are not judged, nor are positive powers, and exponentials that a later `log` or division
normalises. What runs only where `self.training` does not hold counts as code without gradients.
`log(sigmoid(x))` without anything between is left to `log-of-softmax` (AMP305).

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix, NoFix, Related
from amplint.dtypes import OWN_LOSSES, Danger, DtypeHazard, Dtypes
from amplint.model.literals import number_text
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import FLOAT16, LIMITS
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.float16_words import LARGEST, VANISHING
from ._support.float32_operands import widened
from ._support.value_readers import mentions

_HALF = LIMITS[FLOAT16]


@rule(
    "AMP301",
    "exp-log-in-loss",
    WARNING,
    HIGH,
    "0.1.0",
    fix=SAFE,
    # A positive power is in no danger, and `**options` is none.
    entered=r"\b(?:log\d*p?|logit|exp2?|expm1|pow|rsqrt|reciprocal|xlogy)_?\(|[\w)\]]\s*\*\*\s*[^\s\d]",
    observable=Observable(NON_FINITE),
    options=(OWN_LOSSES,),
)
def check(file: File) -> Iterator[Finding]:
    for hazard in file.fact(Dtypes).loss_hazards:
        message, note = _words(hazard)
        related = (*_related(file, hazard), *file.fact(Dtypes).caller(hazard.operation))
        needs = file.fact(Dtypes).needs(hazard.operation)
        yield Finding(
            file.range(hazard.operation.node),
            message,
            note,
            related,
            _fix(file, hazard),
            needs,
        )


def _words(hazard: DtypeHazard) -> tuple[str, str]:
    name = f"`{hazard.operation.op}{'_' if hazard.operation.in_place else ''}`"
    limit = number_text(hazard.limit)
    saturation = f"a float16 sigmoid is exactly 1 above {_HALF.sigmoid_one} and exactly 0 below {_HALF.sigmoid_zero}"
    if hazard.danger is Danger.ROUNDED:
        return (
            f"{name} of a sigmoid that float16 rounds to 0 or 1",
            f"{saturation}, where the loss is infinite and its gradient NaN",
        )
    if hazard.danger is Danger.LOST_EPS:
        eps = f" {number_text(hazard.operand.lost.value)}" if hazard.operand.lost is not None else ""
        sigmoid = f"; the sigmoid itself is 1 above {_HALF.sigmoid_one} and 0 below {_HALF.sigmoid_zero}"
        reason = sigmoid if hazard.operand.saturated is not None else "; 1e-4 would also keep the gradient finite"
        return (
            f"The epsilon{eps} rounds to 0 in float16 before {name}",
            f"float16 rounds constants up to {VANISHING} to 0{reason}",
        )
    if hazard.danger is Danger.NARROWED:
        return (
            f"The result of {name} is cast to float16 and overflows",
            f"{name} runs in float32, but its result exceeds {LARGEST}, the largest float16, for inputs above {limit}",
        )
    if hazard.danger is Danger.IN_HALF:
        return f"{name} runs in float16 here and overflows for inputs above {limit}", _why_in_half(hazard)
    side = "above" if hazard.operand.high > hazard.limit and _grows(hazard) else "below"
    return (
        f"The gradient of {name} overflows float16 for inputs {side} {limit}",
        f"{name} runs in float32, but its gradient is cast back to float16 and becomes infinite, even earlier under loss scaling",
    )


def _grows(hazard: DtypeHazard) -> bool:
    return hazard.limit > 1


def _why_in_half(hazard: DtypeHazard) -> str:
    operation = hazard.operation
    if operation.in_place:
        return "autocast does not cast for in-place forms and `out=`: they run in the dtype of their operand"
    if operation.region is None:
        return "no autocast region is in effect here, so the operation runs in float16, as its operand is"
    if operation.region.device == "cpu":
        return "autocast on the CPU leaves the operation in float16; on CUDA it would run in float32"
    return "autocast leaves this operation in the dtype of its operand, which is float16"


def _related(file: File, hazard: DtypeHazard) -> tuple[Related, ...]:
    made = file.related("rounded to float16 here", hazard.operand.saturated)
    made = made or file.fact(Dtypes).became_half(hazard.operand)
    return (*made, *file.related("cast to float16 here", hazard.narrowed_at))


_UNCASTABLE = NoFix("the operand cannot be cast in this place")


def _fix(file: File, hazard: DtypeHazard) -> Fix | NoFix:
    if hazard.danger in (Danger.ROUNDED, Danger.LOST_EPS, Danger.GRADIENT) and hazard.operand.saturated is not None:
        cure = hazard.operand.cure
        applicability = SAFE if hazard.operand.sure else UNSAFE
        if cure is not None and _is_written_for_others(file, hazard.operand.saturated, cure):
            return NoFix("the in-place sigmoid is there for others, too, who use the tensor")
    elif hazard.danger is Danger.LOST_EPS:
        cure, applicability = hazard.operand.cure, UNSAFE
    elif hazard.danger is Danger.IN_HALF and not hazard.operation.in_place:
        cure, applicability = _operand_node(hazard.operation.node), UNSAFE
    elif hazard.danger is Danger.IN_HALF:
        return NoFix("an in-place form keeps the dtype of the tensor")
    elif hazard.danger is Danger.NARROWED:
        return NoFix("only you can say whether the result has to be float16")
    else:
        return NoFix("with `.float()` on the operand the gradient would overflow all the same")
    return (widened(file, [cure], applicability) if cure is not None else None) or _UNCASTABLE


def _is_written_for_others(file: File, sigmoid: cst.CSTNode, operand: cst.BaseExpression) -> bool:
    """Whether an in-place sigmoid, which a copy of its operand in float32 would take the place of, may change what others use."""
    in_place = isinstance(sigmoid, cst.Call) and isinstance(sigmoid.func, cst.Attribute) and sigmoid.func.attr.value
    if in_place != "sigmoid_" or not isinstance(operand, (cst.Name, cst.Attribute, cst.Subscript)):
        return False
    return not isinstance(operand, cst.Name) or _is_parameter(file, operand) or mentions(file, operand) > 2


def _is_parameter(file: File, name: cst.Name) -> bool:
    return any(isinstance(each.node, cst.Param) for each in file.names.bindings(name.value, name))


def _operand_node(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The operand of a call of a function or a method, where one can be told from the other."""
    if not isinstance(node, cst.Call):
        return None
    if node.args:
        return node.args[0].value if len(node.args) == 1 and node.args[0].keyword is None else None
    return node.func.value if isinstance(node.func, cst.Attribute) else None
