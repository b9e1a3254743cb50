"""An activation is cast to float16 by hand inside an autocast region.

## What it does
Flags `.half()`, `.to(torch.float16)` and `.type(torch.float16)` inside an enabled region, on results that are float32
there (a sum, a norm, a LayerNorm) and may exceed what float16 holds, or that are bfloat16, if all that uses the result
is torch.

## Why it matters
Autocast casts the operands of layers and matrix products by itself, and leaves the rest in float32 because it needs the
range. Your cast takes that range away: 70000 becomes inf in float16. In a bfloat16 region float16 tensors also break
operations that promote their operands, such as `addcmul`:
`RuntimeError: Unexpected floating ScalarType in at::autocast::prioritize`.

If you cast to save memory and know that the values stay below 65504, ignore it.

## Example
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def pooled(x, weight):
    total = nn.functional.linear(x, weight).sum(dim=1).half()
    return total / x.size(1)
```

## Use instead
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def pooled(x, weight):
    total = nn.functional.linear(x, weight).sum(dim=1)
    return total / x.size(1)
```

## Fix safety
Unsafe: the cast is dropped. What is computed from the value in float32 then takes more memory, unless a layer or a
matrix product casts it again.

## Limitations
Most casts by hand are left alone. A cast to the dtype of another tensor asks for none in particular, one to bfloat16
keeps the range, and one of a value that fits into float16 anyway (a softmax, a tanh, the output of a layer, which is
half already) changes next to nothing. Inputs, masks and tables may well be cast. And what is handed to a function that
is not known, only returned, or only kept may have to be half.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.dtypes import Dtypes, Operation, Tensor
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import BFLOAT16, FLOAT16, FLOAT32, HALF, LIMITS
from amplint.rule import HIGH, WARNING, File, Finding, rule


@rule(
    "AMP206",
    "manual-cast-in-autocast",
    WARNING,
    HIGH,
    "0.1.0",
    fix=UNSAFE,
    entered=r"\.half\(|float16|bfloat16",
    observable=Observable(NON_FINITE),
)
def check(file: File) -> Iterator[Finding]:
    told = {hazard.narrowed_at for hazard in file.fact(Dtypes).loss_hazards}
    for operation in file.fact(Dtypes).lowered_where(lambda each: each.node not in told and _narrows(file, each)):
        kept = operation.operand.dtype
        note = (
            f"autocast casts the inputs of layers and matrix products by itself; this cast gives up the range of {kept}"
        )
        message = f"An activation is cast to {operation.dtype} by hand inside an autocast region"
        yield Finding(
            file.range(operation.node),
            message,
            note,
            file.fact(Dtypes).caller(operation),
            _fix(file, operation) or NoFix("the cast is part of a larger expression"),
        )


def _narrows(file: File, cast: Operation) -> bool:
    """Whether an activation is made narrower, for nothing but operations of torch."""
    if cast.op != "cast":
        return False
    region, operand = cast.region, cast.operand
    if (
        region is None
        or not region.lowers
        or cast.dtype != FLOAT16
        or operand.half_at is None
        and operand.maker is None
        or _restores(file, cast)
    ):
        return False
    if operand.dtype == FLOAT32:
        if max(-operand.low, operand.high) <= LIMITS[FLOAT16].largest or not _is_activation(cast):
            return False
    elif operand.dtype != BFLOAT16:
        return False
    users = file.fact(Dtypes).users(cast.node)
    return bool(users) and all(user.op not in ("call", "cast", "setitem") for user in users)


def _restores(file: File, cast: Operation) -> bool:
    """Whether another tensor says which dtype it shall be: `x.type_as(y)`, `x.to(y)`, `x.to(y.dtype)`."""
    arguments = cast.arguments
    asked = [*zip(arguments.nodes[1:], arguments.values[1:])]
    asked += [(arguments.keyword_nodes.get(name), value) for name, value in arguments.keywords.items()]
    return any(
        isinstance(value, Tensor) or any(_is_dtype_of_tensor(each) for each in (node, *file.flow.meant(node)))
        for node, value in asked
    )


def _is_dtype_of_tensor(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "dtype"


def _is_activation(cast: Operation) -> bool:
    """Whether a layer, or another operation that autocast lowers, is among what the operand was computed from."""
    waiting, seen = [cast.operand.maker], set[Operation]()
    while waiting:
        made = waiting.pop()
        if made is None or made in seen or len(seen) > 100:
            continue
        seen.add(made)
        if made.dtype in HALF:
            return True
        waiting += [value.maker for value in made.arguments.tensors]
    return False


def _fix(file: File, cast: Operation) -> Fix | None:
    call = cast.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if call.func.attr.value in ("to", "type") and len(call.args) != 1:
        return None
    value = call.func.value
    end = file.tree.span(value)[1]
    for _ in file.tree.as_written(value).rpar:  # a node's span leaves out its own parentheses
        end = file.source.text.index(")", end) + 1
    stop = file.tree.span(call)[1]
    if "#" in file.source.text[end:stop]:
        return None
    return Fix("Remove the cast", (Edit(end, stop, ""),), UNSAFE)
