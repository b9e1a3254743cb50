"""`scaler.update()` runs for every micro-batch, and `scaler.step()` only for some.

## What it does
Flags `scaler.update()` that can run after a backward pass and before any `scaler.step()`. If you accumulate gradients,
the update belongs to the step, not to the micro-batch.

## Why it matters
An update wants to know whether gradients overflowed, and learns it from `step` or `unscale_`. If neither has run, your
first micro-batch raises `AssertionError: No inf checks were recorded prior to update.` If you unscale each micro-batch
as well, nothing is raised, which is worse: the update ends the round, the next `unscale_` divides again what is
unscaled already, and only your last micro-batch counts.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for step, (data, target) in enumerate(loader):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target) / 4
    scaler.scale(loss).backward()
    if (step + 1) % 4 == 0:
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for step, (data, target) in enumerate(loader):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target) / 4
    scaler.scale(loss).backward()
    if (step + 1) % 4 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
```

## Fix safety
The fix moves the update behind the step. It is safe where the scaler steps in one block. You get no fix where the steps
are spread over branches or functions, and where the update is all that its block holds.

## Limitations
If update and step are under different conditions the rule says nothing: they may agree in a way that the text does not
show. A step of any other optimizer of the same scaler is enough for an update, so a GAN that updates once per iteration
is fine.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix
from amplint.model.observables import NORM_SEEN, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import accumulation, hazard_calls, protocol_edits, without_step

KIND = HazardKind.UPDATE_IN_ACCUMULATION


@rule("AMP108", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        if not without_step.runs_without_step(file, found):
            continue
        call = protocol_edits.fit_for_message(file.tree.text(found.node), "scaler.update()")
        error = (
            "without a step before it, `update` raises `AssertionError: No inf checks were recorded prior to update.`"
        )
        silent = (
            "the next backward pass adds scaled gradients to unscaled ones, so that only the last micro-batch counts"
        )
        loud = "raises" in found.hazard.details
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{call}` also runs when no step has run before it",
            note=f"{error}{protocol_edits.while_enabled(found)}" if loud else silent,
            related=hazard_calls.related(
                file,
                found,
                backward="these gradients await a step"
                if loud
                else "the next backward pass adds to the gradients here",
            ),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "where `update()` should move is not clear"),
        )


def mend(file: File, found: Found) -> Fix | None:
    """Move the update behind the last step of an iteration."""
    moved = accumulation.repair_both(file, found)
    if moved is None or not isinstance(found.node, cst.Call):
        return None
    edits, plain = moved
    title = f"Move `{hazard_calls.base_text(file, found.node)}.update()` behind the step"
    return Fix(title, edits, SAFE if plain else UNSAFE)
