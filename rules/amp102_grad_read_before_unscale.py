"""Gradients are measured, compared or added to while they are still multiplied by the loss scale.

## What it does
Flags `.grad` where it is measured (a norm or a histogram that you log, print or keep), compared with a threshold, or
added to (weight decay or noise by hand), after `scaler.scale(loss).backward()` and before `scaler.unscale_(optimizer)`.
`clip_grad_norm_` with an infinite threshold is a measurement, too.

## Why it matters
The norm on your dashboard is 65536 times too large at first, and jumps by a factor of two whenever the scale changes:
it shows what the scaler does, not what the training does. A threshold is met or missed for the same reason. What you
add is not scaled, but it is divided by the scale afterwards: a weight decay of 0.01 acts like 1.5e-7. PyTorch raises
nothing.

Tests for inf, NaN, zero and None come out the same on scaled gradients, and so do ratios of gradients and numbers that
you divide by `scaler.get_scale()`. They are all fine, and silent.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
writer.add_scalar("gradient norm", norm, step)
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
norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
writer.add_scalar("gradient norm", norm, step)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix puts `scaler.unscale_(optimizer)` in front of the reading, or moves the one behind it there; a clip of the same
gradients shares it. It is safe where you only show the number. It is unsafe where you compare it, since the threshold
may have been tuned on scaled gradients, and where you change the gradients. You get no fix where the reading is in
another function than the step, where it runs for every micro-batch (a second `unscale_` would raise), where several
optimizers may own the gradients, and where the scaler may be None.

## Limitations
A gradient that is copied, kept as a tensor, or handed to a function by itself is not followed. Hooks are not
read. Where the backward pass is out of sight, a read is reported as a clip is (AMP101).

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import SAFE, UNSAFE
from amplint.model.events import ADD, COMPARE, MEASURE
from amplint.model.observables import GRADIENT_READ, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import hazard_calls, insert_unscale, optimizer_notes

KIND = HazardKind.GRAD_READ_BEFORE_UNSCALE

_SAID = {
    MEASURE: ("read", ", so what is measured jumps whenever the scale changes"),
    COMPARE: ("compared", ", so the threshold means something else whenever the scale changes"),
    ADD: ("changed", "; what is added is not, and is divided by the scale later"),
}


@rule("AMP102", KIND, WARNING, HIGH, "0.1.0", fix=SAFE, observable=Observable(GRADIENT_READ))
def check(file: File) -> Iterator[Finding]:
    for found in first_in_each_row(file):
        (by,) = found.hazard.details
        done, consequence = _SAID[by]
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"Gradients are {done} before `{found.scaler_name}` unscales them",
            note=f"each gradient is still multiplied by the scale, {optimizer_notes.initial_scale(found)} at first{consequence}",
            related=hazard_calls.related(file, found, scaled="scaled here", **insert_unscale.SHOWN_LATE),
            defect=hazard_calls.defect(found),
            fix=insert_unscale.repair(
                file,
                found,
                "the gradients are changed" if by == ADD else "the gradients are read",
                SAFE if by == MEASURE else UNSAFE,
            ),
            needs=insert_unscale.needs(found),
        )


def first_in_each_row(file: File) -> list[Found]:
    """One finding for a row, however many gradients it reads."""
    rows: dict[int, Found] = {}
    all_ = file.analysis.of(KIND, elsewhere=True, halves=True)
    for found in sorted(all_, key=lambda found: file.tree.span(found.node)):
        rows.setdefault(file.range(found.node).start.row, found)
    return list(rows.values())
