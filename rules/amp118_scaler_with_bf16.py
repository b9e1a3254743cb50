"""A `GradScaler` scales losses that are computed in bfloat16, which needs no scaling.

## What it does
Flags the construction of a scaler that may be enabled if every autocast region of the file, and of the steps that the
scaler takes, is bfloat16.

## Why it matters
A scaler keeps small gradients from vanishing in float16. bfloat16 has the range of float32, so nothing vanishes.
Nothing is spoiled either: with a scale that is a power of two your gradients come out bit for bit the same. You only
pay: each step takes one more pass over all gradients and, but for fused optimizers, waits for the device; your
checkpoints hold a state that means nothing; and a step is skipped for no reason if the scaled loss exceeds the range of
float32.

If you like that the scaler skips steps with inf or NaN gradients, keep it and ignore this line. A scaler that is
enabled, or made, by a condition about the precision is right and silent, unless the condition asks for bfloat16, or
also enables every region.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda", enabled=False)
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix passes `enabled=False`: all calls stay, and do nothing. It is unsafe because the `state_dict()` of a disabled
scaler is empty, which a later run with an enabled one cannot load, and because nothing skips steps with inf or NaN
gradients any more.

## Limitations
Losses from a region of another file, or from one whose dtype is chosen elsewhere, are not judged.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Fix, NoFix
from amplint.facts.bf16_scalers import Bf16Scalers
from amplint.facts.scalers import Scalers
from amplint.model.observables import CHECKED, Observable
from amplint.rule import HIGH, INFO, File, Finding, rule

from ._support.call_edits import insert_arguments, keyword, positionals


@rule("AMP118", "scaler-with-bf16", INFO, HIGH, "0.1.0", fix=UNSAFE, observable=Observable(CHECKED))
def check(file: File) -> Iterator[Finding]:
    for call, (shown, place) in file.fact(Bf16Scalers).found.items():
        yield Finding(
            file.range(call.func),
            "A `GradScaler` gains nothing where autocast computes in bfloat16",
            note="bfloat16 has the range of float32, so nothing needs scaling; each step still checks all gradients",
            related=file.related(shown, place),
            fix=disable(file, call) or NoFix("`enabled` cannot be given in this call"),
            defect=file.fact(Scalers).first_choice(call),
        )


def disable(file: File, call: cst.Call) -> Fix | None:
    """`enabled=False` on the construction; None where its place is taken by a positional argument."""
    given = keyword(call, "enabled")
    if given is None and len(positionals(call)) > 4:
        return None
    if given is not None:
        edits = [file.editor.replace(given.value, "False")]
    else:
        edits = insert_arguments(file, call, ["enabled=False"], (), len(call.args))
    return Fix("Disable the scaler", tuple(edits), UNSAFE)
