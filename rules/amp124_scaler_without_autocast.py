"""A `GradScaler` scales losses, and no autocast region computes anything in half precision.

## What it does
Flags the construction of a scaler that may be enabled if the losses that it scales are computed in the same file, and
nothing in the file enters an autocast region, makes anything half, or enters a context of unknown meaning.

## Why it matters
In float32 there is nothing to keep from vanishing. Your results are the same; the scaler only costs a pass over the
gradients and a wait for the device at each step. More likely you have forgotten the region, and with it the speed that
mixed precision was meant to bring.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
There is no fix: whether to add the region or to drop the scaler is yours to decide.

## Limitations
The rule is off unless selected: a model of a library may enter the region in its own `forward`. If yours does, ignore
it. Files of your project that the file imports, or that these import, are looked through for a region.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import NoFix
from amplint.facts.scaler_precision import Precisions
from amplint.facts.scalers import Scalers
from amplint.rule import INFO, LOW, File, Finding, rule


@rule("AMP124", "scaler-without-autocast", INFO, LOW, "0.1.0", default=False)
def check(file: File) -> Iterator[Finding]:
    for call, facts in file.fact(Scalers).made:
        if facts.enabled != "no" and file.fact(Precisions).all_full(call):
            yield Finding(
                file.range(call.func),
                "The `GradScaler` scales losses that no autocast region computes",
                note="gradients in float32 need no scaling; most often the autocast region is what is missing",
                defect=file.fact(Scalers).first_choice(call),
                fix=NoFix("only you can say whether the region is missing or the scaler is one too many"),
            )
