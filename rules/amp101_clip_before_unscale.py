"""Gradients are clipped while they are still multiplied by the loss scale.

## What it does
Flags clipping (`clip_grad_norm_`, `clip_grad_value_`, `clip_grads_with_norm_`, hand-written clamping of `.grad`) on a path on
which the gradients come from `scaler.scale(loss).backward()` and `scaler.unscale_(optimizer)` has not run yet. An
`unscale_` that follows the clip comes too late and is flagged all the same.

## Why it matters
Until `unscale_` runs, every gradient is multiplied by the scale, 65536 at the start. A threshold of `max_norm` then acts
like `max_norm / 65536` on the true gradients: nearly every step is shortened to that length. With SGD training stands still;
with Adam the loss curve hides it, while every update is normalised. `clip_grad_value_` does more harm: it turns an infinite
gradient into a finite one before the scaler can see the overflow, so the step is taken and the scale never falls.
PyTorch raises nothing.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix inserts `scaler.unscale_(optimizer)` before the clip, or moves the one that stands after it. `scaler.step` knows that
the gradients are unscaled already. It is safe where one optimizer owns the clipped parameters and clip and step run in the
same iterations. There is no fix where several optimizers share the clip, where the clip runs for every micro-batch of an
accumulation (a second `unscale_` would raise), where the scaler may be None, and where optimizer or scaler is out of reach.

## Limitations
Clipping in a function that neither runs the backward pass nor is called, in the same file, after one is not judged: its
caller may have unscaled. Thresholds multiplied by `scaler.get_scale()` are right and not flagged.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import Applicability
from amplint.model.literals import number
from amplint.model.observable import NORM_SEEN, Observable
from amplint.rule import File, Finding, Found, rule

from . import _protocol as protocol
from . import _unscale as unscale

KIND = "clip-before-unscale"


@rule("AMP101", KIND, fix=Applicability.SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        scaler = found.hazard.scaler.removeprefix("::")
        yield Finding(
            file.range(protocol.callee_range(file, found.node)),
            f"Gradients are clipped while still scaled by `{scaler}`",
            note=consequence(found),
            related=protocol.related(file, found, scaled="scaled here"),
            fix=unscale.repair(file, found, "the clip"),
        )


def consequence(found: Found) -> str:
    """What the clip does to the true gradients, in the author's own numbers where they are known."""
    by, limit = found.hazard.details
    scale_text = found.scaler.init_scale or "65536.0"
    threshold, scale = number(limit), number(scale_text)
    effective = f"`{limit}` / {scale_text}" if threshold is None or not scale else f"{threshold / scale:.3g}"
    if by == "norm":
        return f"at the initial scale the true gradients are cut to norm {effective}, not to `{limit}`."
    if by == "value":
        return (
            f"at the initial scale each true gradient is cut to {effective}, not to `{limit}`, and an overflow becomes "
            "finite before the scaler can see it."
        )
    return "the threshold meets gradients that are multiplied by the scale, 65536 at first."
