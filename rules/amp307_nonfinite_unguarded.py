"""Training in bfloat16 takes every step, whether the loss is a number or not.

## What it does
Flags the backward pass of a loop whose regions are bfloat16 and which has no enabled scaler, if nothing in the file
asks whether losses or gradients are finite: no `isfinite`, `isnan`, `nan_to_num`, anomaly mode, `error_if_nonfinite`.

## Why it matters
You need no `GradScaler` in bfloat16, but without one nothing skips a step whose gradients are inf or NaN. Then one bad
batch is enough: the step writes NaN into your parameters, and everything after it is NaN. Clipping by norm
does not help, for a norm that is NaN makes all gradients NaN.

Many runs never meet such a batch, and asking waits for the device; so the rule is off unless selected.

## Example
```python
import torch

for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    loss.backward()
    optimizer.step()
```

## Use instead
```python
import torch

for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
```

## Fix safety
The fix, which raises an error for such a loss, is only shown: whether to stop or to leave the batch out is yours to
decide.

## Limitations
A test in another file is not seen.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Fix, NoFix
from amplint.facts.unguarded_bf16 import Finiteness
from amplint.model.observables import DAMAGED, Observable
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support import hazard_calls

_NOTE = "one batch with an inf or NaN makes all parameters NaN; in bfloat16 there is no scaler to skip such a step"


@rule(
    "AMP307",
    "nonfinite-unguarded",
    WARNING,
    MEDIUM,
    "0.1.0",
    fix=DISPLAY,
    default=False,
    observable=Observable(DAMAGED),
)
def check(file: File) -> Iterator[Finding]:
    for backward in file.fact(Finiteness).unguarded:
        yield Finding(
            hazard_calls.callee_range(file, backward),
            "The optimizer steps even if the bfloat16 loss is not finite",
            note=_NOTE,
            fix=guard(file, backward) or NoFix("there is no single place where the loss could be checked"),
        )


def guard(file: File, backward: cst.Call) -> Fix | None:
    """An error for a loss that is not finite; None where the loss is no plain expression."""
    line = file.editor.statement(backward)
    loss = backward.func.value if isinstance(backward.func, cst.Attribute) else None
    if isinstance(loss, cst.Call) and len(loss.args) == 1:
        loss = loss.args[0].value  # what a scaler scales
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(
        loss, (cst.Name, cst.Attribute, cst.BinaryOperation)
    ):
        return None
    text = file.tree.text(loss)
    test = f"({text})" if isinstance(loss, cst.BinaryOperation) else text
    error = f'{file.editor.unit}raise FloatingPointError("the loss is not finite")'
    edit = file.editor.insert_before(line, f"if not {test}.isfinite():", error)
    return Fix("Raise an error for such a loss", (edit,), DISPLAY)
