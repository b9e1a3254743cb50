"""A scaler is updated between the steps of two optimizers.

## What it does
Flags `scaler.update()` if another optimizer steps after it on gradients that were scaled before it, also in a loop over
optimizers.

## Why it matters
The update may change the scale. Gradients that were multiplied by the old scale are then divided by the new one: your
second optimizer takes half a step after the scale has grown, and a double one after it has fallen. The scaler also
counts two updates per iteration, so it grows twice as often as you asked for. PyTorch raises nothing.

If the second optimizer has a backward pass of its own after the update, everything is in order, and nothing is flagged.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(decoder(encoder(data)), target)
scaler.scale(loss).backward()
scaler.step(encoder_optimizer)
scaler.update()
scaler.step(decoder_optimizer)
scaler.update()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(decoder(encoder(data)), target)
scaler.scale(loss).backward()
scaler.step(encoder_optimizer)
scaler.step(decoder_optimizer)
scaler.update()
```

## Fix safety
The fix removes the update if another one always follows the last step, and otherwise moves it there, also out of a loop
over optimizers that are listed in its header. You get no fix where the steps are in different blocks or functions, and
for a loop over a collection whose members the text does not show.

## Limitations
An update in a loop that calls other functions of the file, or that stands under a condition there, is not judged.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Fix
from amplint.model.events import ScalerStep, ScalerUpdate
from amplint.model.observables import NORM_SEEN, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, Statement, rule

from ._support import hazard_calls, protocol_edits

KIND = HazardKind.UPDATE_PER_OPTIMIZER


@rule("AMP109", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        if not steps_another(found):
            continue
        call = protocol_edits.fit_for_message(file.tree.text(found.node), "scaler.update()")
        later = found.related.get("step", found.node)
        step = protocol_edits.fit_for_message(file.tree.text(later), "the next step")
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{call}` changes the scale before `{step}` divides by it",
            note="these gradients were multiplied by the old scale: divided by the new one, the step is half or twice as long",
            related=hazard_calls.related(file, found, step="divides by the new scale"),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "where `update()` should move is not clear"),
        )


def steps_another(found: Found) -> bool:
    """Whether the scaler steps another optimizer, too: with a single one, an update before its step is AMP108."""
    mine = [event for event, _ in found.events(ScalerStep) if event.scaler == found.hazard.scaler]
    return any(event.optimizer != found.hazard.optimizer or "[" in event.optimizer for event in mine)


def mend(file: File, found: Found) -> Fix | None:
    """Leave the update to the last one; or move it there."""
    assert isinstance(found.node, cst.Call)
    update, step = file.editor.statement(found.node), file.editor.statement(found.related["step"])
    if not isinstance(update, cst.SimpleStatementLine) or not isinstance(step, cst.SimpleStatementLine):
        return None
    call, block = f"{hazard_calls.base_text(file, found.node)}.update()", file.editor.block(update)
    if block is not file.editor.block(step):
        return None
    last: Statement = step
    if file.tree.span(step) < file.tree.span(update):  # the step of the next optimizer, in the next round of a loop
        loop = file.tree.parent(block) if block is not None else None
        if not isinstance(loop, cst.For) or "[" in found.hazard.optimizer or len(file.editor.siblings(update)) == 1:
            return None
        last = loop
    if any(_comes_always(file, update, other) for other in _later(file, found, last)):
        return Fix(f"Remove `{call}`: one follows the last step", (protocol_edits.without(file, update),))
    return Fix(f"Move `{call}` behind the last step", tuple(file.editor.move_after(update, last)))


def _later(file: File, found: Found, last: Statement) -> list[cst.Call]:
    """The updates of the scaler in the same function that come after a step, or after the loop that holds it."""
    home = file.tree.function(last)
    updates = found.calls(ScalerUpdate)
    here = [update for update in updates if file.tree.function(update) is home]
    return [update for update in here if file.tree.span(last)[1] <= file.tree.span(update)[0]]


def _comes_always(file: File, update: cst.SimpleStatementLine, later: cst.Call) -> bool:
    """Whether an update follows another one whatever happens: its block holds it."""
    line = file.editor.statement(later)
    return line is not None and hazard_calls.holds(file, file.editor.block(line), update)
