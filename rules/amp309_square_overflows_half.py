"""A float16 tensor is multiplied with itself, where its power would be float32.

## What it does
Flags `x * x` of a float16 tensor in a region: `(x * x).mean()`, `torch.mul(x, x)`, `x *= x`.

## Why it matters
Autocast runs `x ** 2`, `x.pow(2)` and `torch.square(x)` in float32, and leaves `x * x` in the dtype of its operands. In
float16 that is infinite from 256 on, and 0 up to 1.7e-4; a `mean` or a `sum` behind it comes too late.

Whether your values come near 256 is not known, which is why you have to select the rule. If they do not, ignore it.

## Example
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def energy(x, weight):
    h = nn.functional.linear(x, weight)
    return (h * h).mean(dim=-1)
```

## Use instead
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def energy(x, weight):
    h = nn.functional.linear(x, weight)
    return (h ** 2).mean(dim=-1)
```

## Fix safety
Unsafe: what is computed from the square is float32 from there on, and takes more memory. You get no fix for in-place forms.

## Limitations
A tensor is taken for float16 only where the file, or a caller in another one, shows it. What is bounded, such as a
`tanh`, is silent.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-autocast-to-float32
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.dtypes import Dtypes, Operation, Tensor
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import lifted
from amplint.rule import LOW, WARNING, File, Finding, rule

_OVERFLOWS = 256.0
"""The square of this, and of all beyond, is more than float16 holds."""


@rule(
    "AMP309",
    "square-overflows-half",
    WARNING,
    LOW,
    "0.1.0",
    fix=UNSAFE,
    default=False,
    entered=r"(\b\w+) ?\* ?\1\b",
    observable=Observable(NON_FINITE),
)
def check(file: File) -> Iterator[Finding]:
    for operation in file.fact(Dtypes).lowered_where(_squares):
        yield Finding(
            file.range(operation.node),
            "The square of a float16 tensor overflows for values of 256 and more",
            "`x * x` runs in float16; under autocast `x ** 2` runs in float32",
            file.fact(Dtypes).origin(operation, operation.operand),
            _fix(file, operation) or NoFix("the factor is changed in place"),
        )


def _squares(operation: Operation) -> bool:
    one, other = operation.arguments.get(0, "input", "self"), operation.arguments.get(1, "other")
    if operation.op != "mul" or not lifted("pow", operation.region):
        return False
    if not (isinstance(one, Tensor) and isinstance(other, Tensor) and one.half and one.sure and other.half):
        return False
    left, right = operation.arguments.node(0, "input", "self"), operation.arguments.node(1, "other")
    if left is None or right is None or not left.deep_equals(right) or isinstance(left, cst.Call):
        return False
    return max(-one.low, one.high) >= _OVERFLOWS


def _fix(file: File, operation: Operation) -> Fix | None:
    factor = operation.arguments.node(0, "input", "self")
    if operation.in_place or factor is None:
        return None
    text = file.tree.text(factor)
    bare = isinstance(factor, (cst.Name, cst.Attribute, cst.Subscript))
    square = f"{text} ** 2" if bare else f"({text}) ** 2"
    node = operation.node
    needs = isinstance(node, cst.Call) and isinstance(file.tree.parent(node), (cst.Attribute, cst.BinaryOperation))
    edit = Edit(*file.tree.span(node), f"({square})" if needs else square)
    return None if "#" in file.tree.text(node) else Fix("Replace with a power", (edit,), UNSAFE)
