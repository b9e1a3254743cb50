"""Gradients are cleared between the backward pass and `scaler.step`.

## What it does
Flags `zero_grad()` of an optimizer or a module between a scaled backward pass and the `scaler.step(optimizer)` that
should use its gradients.

## Why it matters
`zero_grad()` sets the gradients to None, so the scaler finds none to look at, and `scaler.step` raises
`AssertionError: No inf checks were recorded for this optimizer.` With a fused optimizer the step says nothing and moves
nothing; `scaler.update()` then raises `AssertionError: No inf checks were recorded prior to update.`, unless another
optimizer was checked.

If you call `unscale_` before you clear, it has done the checking already: nothing is raised at all, and your weights
just never move.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
optimizer.zero_grad()
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
import torch

optimizer.zero_grad()
with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix, which moves `zero_grad()` behind the step if both stand in one block, is only shown: perhaps you meant to clear
the gradients before the backward pass, or to leave the step out.

## Limitations
Clearing under one condition and stepping under another is not flagged, nor clearing under a condition what `unscale_`
has checked: the step then moves nothing, as meant. `zero_grad(set_to_none=False)` and
`p.grad.zero_()` leave zeros behind: nothing is raised then, and some people skip a bad batch in that way.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Fix
from amplint.model.events import Backward
from amplint.model.observables import UNMOVED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, optimizer_notes, protocol_edits

KIND = HazardKind.GRADS_CLEARED_BEFORE_STEP


@rule("AMP123", KIND, ERROR, HIGH, "0.1.0", fix=DISPLAY, observable=Observable(UNMOVED))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True, halves=True):
        step = found.related.get("step")
        if step is None or not reaches_the_step(file, found, step):
            continue
        call = protocol_edits.fit_for_message(file.tree.text(found.act), "zero_grad()")
        user = protocol_edits.fit_for_message(file.tree.text(step), "scaler.step")
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{call}` clears the gradients before `{user}` uses them",
            note=consequence(file, found, step),
            related=hazard_calls.related(file, found, backward="computed here", step="finds no gradients"),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "where the gradients are needed last is not clear"),
        )


def reaches_the_step(file: File, found: Found, step: cst.CSTNode) -> bool:
    """Whether the text shows that both run in one iteration, and nothing between: not each under a condition of its own,
    not round a pass that a condition leaves out, and not to leave out a batch that `unscale_` has checked."""
    order = file.tree.order
    if any(order(found.node) < order(each) < order(step) for each in found.at_home(Backward)):
        return False
    if "checked" in found.hazard.details and any(
        hazard_calls.varies(file, guard) for guard in hazard_calls.guards(file, found.node, file.tree.module)
    ):
        return False
    block = hazard_calls.common_block(file, found.node, step)
    if block is None:
        return True
    return not all(
        any(hazard_calls.varies(file, guard) for guard in hazard_calls.guards(file, node, block))
        for node in (found.node, step)
    )


def consequence(file: File, found: Found, step: cst.CSTNode) -> str:
    """What the step does without gradients."""
    made = None
    if isinstance(step, cst.Call) and step.args:
        made = optimizer_notes.constructor(file, step.args[0].value)
    if "checked" in found.hazard.details:
        return "`unscale_` has already checked them: nothing is raised, but the weights do not move"
    if made is not None and optimizer_notes.is_fused(file, made):
        error = "`AssertionError: No inf checks were recorded prior to update.`"
        return f"the fused step moves nothing, and `update` raises {error}{protocol_edits.while_enabled(found)}"
    error = "`AssertionError: No inf checks were recorded for this optimizer.`"
    return f"`zero_grad` sets the gradients to None, so the step raises {error}{protocol_edits.while_enabled(found)}"


def mend(file: File, found: Found) -> Fix | None:
    """Clear the gradients behind the step."""
    clearing, stepping = file.editor.statement(found.node), file.editor.statement(found.related["step"])
    if not isinstance(clearing, cst.SimpleStatementLine) or not isinstance(stepping, cst.SimpleStatementLine):
        return None
    block = file.editor.block(clearing)
    if block is not file.editor.block(stepping) or file.tree.span(stepping) < file.tree.span(clearing):
        return None
    return Fix("Move `zero_grad()` behind the step", tuple(file.editor.move_after(clearing, stepping)), DISPLAY)
