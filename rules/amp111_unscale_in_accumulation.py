"""Gradients are unscaled before the last backward pass of an accumulation.

## What it does
Flags `scaler.unscale_(optimizer)` if another scaled backward pass can add to the gradients before the optimizer steps:
because it runs for every micro-batch, or only for the first one.

## Why it matters
Your second micro-batch adds gradients that are multiplied by the scale to gradients that are not. If `unscale_` runs
for each micro-batch, PyTorch stops you:
`RuntimeError: unscale_() has already been called on this optimizer since the last update().` It says nothing if you
also update each time, and then every micro-batch but the last is divided by the scale again and lost. Nor does it if
`unscale_` runs once: then the optimizer steps on gradients that are mostly still scaled, 65536 times too large at
first.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for step, (data, target) in enumerate(loader):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target) / 4
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if (step + 1) % 4 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
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
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
```

## Fix safety
The fix moves `unscale_`, with the clip or the reading that follows it, into the branch that steps. Alone it is safe to
move. With a clip the fix is unsafe: if you meant to clip each micro-batch by itself, you need another loop. You get no
fix where the statements do not follow each other, where something outside of the branch uses what they assign, and
where the step is in another function.

## Limitations
If `unscale_` and step are under different conditions the rule says nothing: they may agree in a way that the text does
not show. With several optimizers it cannot be told whose gradients a backward pass adds to, so only a second
`unscale_`, which raises, is flagged.

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

from ._support import accumulation, hazard_calls, optimizer_notes, protocol_edits, without_step
from .amp110_repeated_unscale import ERROR_TEXT

KIND = HazardKind.UNSCALE_IN_ACCUMULATION


@rule("AMP111", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in without_step.unscaled_early(file):
        call = protocol_edits.fit_for_message(file.tree.text(found.node), "scaler.unscale_(optimizer)")
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{call}` runs before all gradients are accumulated",
            note=consequence(found),
            related=hazard_calls.related(file, found, backward="adds scaled gradients"),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "where the last micro-batch ends is not clear here"),
        )


def consequence(found: Found) -> str:
    """What the next backward pass does to the unscaled gradients, and whether the scaler objects."""
    scale = optimizer_notes.initial_scale(found)
    mixed = f"the next backward pass adds gradients multiplied by the scale, {scale} at first, to unscaled ones"
    if found.silent:
        return mixed
    return f"{mixed}; the next `unscale_` raises {ERROR_TEXT}{protocol_edits.while_enabled(found)}"


def mend(file: File, found: Found) -> Fix | None:
    """Move `unscale_`, and what uses the gradients behind it, into the block of the step."""
    moved = accumulation.repair_both(file, found)
    if moved is None or not isinstance(found.node, cst.Call):
        return None
    edits, plain = moved
    call = f"{hazard_calls.base_text(file, found.node)}.unscale_({hazard_calls.argument_text(file, found.node)})"
    if plain:
        return Fix(f"Move `{call}` to the step", edits, SAFE)
    return Fix(f"Move `{call}`, and what follows from it, to the step", edits, UNSAFE)
