"""An in-place operation runs in float16 where autocast would have run it in float32.

## What it does
Flags the in-place and `out=` forms of operations that autocast lifts to float32 (`exp_`, `log_`, `pow_`, `x **= 2`,
`torch.reciprocal(x, out=x)`) inside a float16 region, on a tensor that is float16 there.

## Why it matters
Autocast leaves in-place forms alone, because the result has the dtype of the tensor it is written to. So the underscore
costs you the range: `x.exp_()` overflows above 11.09, where `x.exp()` is float32 and does so above 88.72, and
`x.pow_(2)` is infinite from 256 on.

If you know that your values stay small, the memory that you save is a fair reason to ignore it.

## Example
```python
import torch
from torch import nn

@torch.no_grad()
@torch.autocast("cuda", dtype=torch.float16)
def rates(x, weight):
    rate = nn.functional.linear(x, weight)
    rate.exp_()
    return rate
```

## Use instead
```python
import torch
from torch import nn

@torch.no_grad()
@torch.autocast("cuda", dtype=torch.float16)
def rates(x, weight):
    rate = nn.functional.linear(x, weight)
    rate = rate.exp()
    return rate
```

## Fix safety
Unsafe: the out-of-place form gives a new tensor, which other names for the old one do not see, and takes memory. You
get no fix where the tensor came in as an argument or is part of another one: there other code may rely on the change.

## Limitations
A tensor is taken for float16 only where the file, or a caller in another one, shows it. Operations that autocast lifts
in neither form are silent, and so are operands that are bounded away from the overflow. Exponentials and logarithms in
a loss are left to `exp-log-in-loss` (AMP301): there the gradient overflows out of place, too.

## References
- https://docs.pytorch.org/docs/stable/amp.html#op-eligibility
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.dtypes import Dtypes, Operation
from amplint.model.observables import VALUE_ERROR, Observable
from amplint.model.torch.precision import FLOAT16, LIMITS, lifted
from amplint.rule import HIGH, WARNING, File, Finding, rule

_LIFTED = (
    "acos|asin|cosh|cumprod|cumsum|erfinv|exp|expm1|log|log10|log1p|log2|pow|reciprocal|renorm|rsqrt|sinh|square|tan"
)
"""What autocast runs in float32 and PyTorch has in place, too."""


@rule(
    "AMP306",
    "inplace-op-in-autocast",
    WARNING,
    HIGH,
    "0.1.0",
    fix=UNSAFE,
    entered=rf"\b(?:{_LIFTED})_\(|\bout=|\*\*=",
    observable=Observable(VALUE_ERROR),
)
def check(file: File) -> Iterator[Finding]:
    told = {hazard.operation.node for hazard in file.fact(Dtypes).loss_hazards}
    for operation in file.fact(Dtypes).lowered_where(lambda each: each.node not in told and _stays_in_half(each)):
        yield Finding(
            file.range(operation.node),
            f"`{_spelling(operation)}` runs in float16, where `{operation.op}` would run in float32",
            "autocast does not cast for in-place forms and `out=`, whose result has the dtype of the tensor it is written to",
            file.fact(Dtypes).origin(operation, operation.operand),
            _fix(file, operation) or NoFix("the result may have to be in the same tensor"),
        )


def _stays_in_half(operation: Operation) -> bool:
    operand = operation.operand
    if not (operation.in_place and operand.half and operand.sure and lifted(operation.op, operation.region)):
        return False
    return operation.op not in ("exp", "expm1") or operand.high > LIMITS[FLOAT16].exp_overflow


def _spelling(operation: Operation) -> str:
    if isinstance(operation.node, cst.AugAssign):
        return "**="
    return f"{operation.op}(out=...)" if "out" in operation.arguments.keywords else f"{operation.op}_"


def _fix(file: File, operation: Operation) -> Fix | None:
    target = operation.arguments.keyword_nodes.get("out") or operation.arguments.node(0, "input", "self")
    if target is None:
        return None
    if isinstance(target, cst.Name):
        edits = _assigned(file, operation, target)
    else:
        fresh = operation.operand.maker
        edits = _out_of_place(file, operation) if fresh is not None and fresh.node is target else []
    title = f"Use `{operation.op}` out of place"
    return Fix(title, tuple(edits), UNSAFE) if edits else None


def _assigned(file: File, operation: Operation, target: cst.Name) -> list[Edit]:
    """Assign the new tensor to the name of the old one, where no other tensor and no caller waits for the change."""
    values = [each.value for each in file.names.bindings(target.value, target)]
    made = operation.operand.made
    line = file.editor.statement(operation.node)
    if made is None or made not in values or not isinstance(line, cst.SimpleStatementLine):
        return []
    if isinstance(operation.node, cst.AugAssign):
        return [Edit(*file.tree.span(operation.node.operator), "="), *_power(file, operation.node)]
    if not isinstance(line.body[0], cst.Expr) or line.body[0].value is not operation.node:
        return []
    start = file.tree.span(operation.node)[0]
    return [Edit(start, start, f"{target.value} = "), *_out_of_place(file, operation)]


def _power(file: File, node: cst.AugAssign) -> list[Edit]:
    start, end = file.tree.span(node.value)
    bare = isinstance(node.value, (cst.Name, cst.Integer, cst.Float)) or bool(file.tree.as_written(node.value).lpar)
    before, after = (f"{file.tree.text(node.target)} ** ", "") if bare else (f"{file.tree.text(node.target)} ** (", ")")
    return [Edit(start, start, before), *([Edit(end, end, after)] if after else [])]


def _out_of_place(file: File, operation: Operation) -> list[Edit]:
    """Call the form without an underscore, or without `out=`."""
    call = operation.node
    if not isinstance(call, cst.Call):
        return []
    out = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "out"), None)
    if out is not None:
        place = list(call.args).index(out)
        if place != len(call.args) - 1 or place == 0:
            return []
        return [Edit(file.tree.span(call.args[place - 1])[1], file.tree.span(out)[1], "")]
    name = call.func.attr if isinstance(call.func, cst.Attribute) else None
    if name is None or not name.value.endswith("_"):
        return []
    end = file.tree.span(name)[1]
    return [Edit(end - 1, end, "")]
