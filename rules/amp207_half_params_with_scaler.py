"""A model that was made half is trained through a scaler.

## What it does
Flags `.half()`, `.to(torch.float16)` and `from_pretrained(..., torch_dtype=torch.float16)` if an optimizer that a
`GradScaler` steps holds the parameters of the model, also if a helper returns the model or makes it half, if a trainer
gets it, also one of another file, or if the constructor of the model casts one of its layers.

## Why it matters
Parameters in float16 have gradients in float16, and the scaler refuses them:
`ValueError: Attempting to unscale FP16 gradients.` Autocast wants your weights in float32 and casts them for each
operation, so that updates smaller than the spacing of float16 are not lost. An optimizer with `fused=True` unscales in
its own kernel and raises nothing, as long as you do not call `unscale_`; the small updates are lost all the same.

Half weights that nobody trains, such as a frozen base under float32 adapters, are fine and silent.

## Example
```python
import torch

model.half()
optimizer = torch.optim.Adam(model.parameters())
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
import torch

optimizer = torch.optim.Adam(model.parameters())
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix takes the cast away. It is unsafe: the weights need twice the memory, and inputs that you cast to half by hand
need autocast around every forward pass.

## Limitations
Casts under a condition are left alone, and so are models of which a part is made float32 again or has no gradients,
and models that are loaded where the file speaks of adapters, quantization or freezing.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import FLOAT16_TRAINING, UNSAFE, Edit, Fix, NoFix
from amplint.facts.half_models import Halved, Halves
from amplint.model.observables import REFUSED, Observable
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.call_edits import without_item
from ._support.protocol_edits import without

_CASTS = r"\.half\(\)"
"""What a file without a scaler says that may give a half model to a trainer of another file."""


@rule(
    "AMP207",
    "half-params-with-scaler",
    ERROR,
    HIGH,
    "0.1.0",
    fix=UNSAFE,
    triggers=("^half$",),
    amid=_CASTS,
    awaits=FLOAT16_TRAINING,
    observable=Observable(REFUSED),
)
def check(file: File) -> Iterator[Finding]:
    for halved in file.fact(Halves).stepped():
        yield Finding(
            file.range(halved.name),
            "A model with float16 weights is trained through a `GradScaler`",
            "the scaler raises `ValueError: Attempting to unscale FP16 gradients.`",
            related=(
                *file.related("the optimizer holds its parameters", halved.made.func),
                *file.related("the scaler refuses their gradients here", halved.step.func),
            ),
            fix=_fix(file, halved) or NoFix("the weights become float16 where that cannot be changed"),
        )


def _fix(file: File, halved: Halved) -> Fix | None:
    cast, title = halved.cast, "Keep the weights in float32"
    assert isinstance(cast.func, cst.Attribute)
    line, given = file.editor.statement(cast), file.fact(Halves).dtype_argument(cast)
    start, end = file.tree.span(cast.func.value)[1], file.tree.span(cast)[1]
    if given is not None and len(cast.args) > 1:
        return Fix(title, (without_item(file, given, cast.args),), UNSAFE)
    whole = isinstance(line, cst.SimpleStatementLine) and _does_nothing_else(line, cast)
    if not isinstance(line, cst.SimpleStatementLine) or not whole or len(file.editor.siblings(line)) == 1:
        return Fix(title, (Edit(start, end, ""),), UNSAFE)
    return Fix(title, (without(file, line),), UNSAFE)


def _does_nothing_else(line: cst.SimpleStatementLine, cast: cst.Call) -> bool:
    """Whether a line is nothing but the cast of a model, by itself or assigned to the model's own name."""
    assert isinstance(cast.func, cst.Attribute)
    model = cast.func.value
    if len(line.body) > 1 or isinstance(model, cst.Call):
        return False
    match line.body[0]:
        case cst.Expr(value=value):
            return value is cast
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            return value is cast and target.deep_equals(model)
    return False
