"""`unscale_` is called twice for one optimizer.

## What it does
Flags a second `scaler.unscale_(optimizer)` without a backward pass, a step or an update since the first one; and one
that comes round again after a branch has left out the step and the update, even if the gradients were cleared since.

## Why it matters
The scaler remembers until `update()` that it has unscaled this optimizer's gradients. Your second call raises
`RuntimeError: unscale_() has already been called on this optimizer since the last update().` Once is enough for
everything that reads the gradients afterwards, and `scaler.step` knows about it, too.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
print("weight gradient", model.weight.grad.norm())
scaler.unscale_(optimizer)
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
print("weight gradient", model.weight.grad.norm())
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix removes the second call. It is safe where the first one always comes before it. You get no fix where the first
call stands in a branch of its own or in another function, and where a loop repeats the call: which one should stay is
yours to say.

## Limitations
A second `unscale_` after another backward pass that adds to the same gradients is AMP111; after `continue`, `break` or
`return` it is AMP120.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.unscale_
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Fix, Related
from amplint.model.events import ScalerStep, ScalerUpdate
from amplint.model.observables import RAISED, Observable
from amplint.model.protocol.hazard import STEP_LEFT_OUT, HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, protocol_edits, without_step

KIND = HazardKind.REPEATED_UNSCALE
ERROR_TEXT = "`RuntimeError: unscale_() has already been called on this optimizer since the last update().`"


@rule("AMP110", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(RAISED))
def check(file: File) -> Iterator[Finding]:
    accumulating = {found.node for found in without_step.unscaled_early(file)}
    for found in file.analysis.of(KIND, elsewhere=True):
        branch = _leaving_out(file, found)
        if STEP_LEFT_OUT in found.hazard.details and (branch is None or found.node in accumulating):
            continue  # the latter is told as AMP111
        call = protocol_edits.fit_for_message(file.tree.text(found.node), "scaler.unscale_(optimizer)")
        again = found.related.get("first") is found.node
        second = "is called" if found.origin is None else "unscales"
        how = "is repeated in a loop, without `update`" if again else f"{second} a second time"
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{call}` is repeated after a branch without `update`" if branch is not None else f"`{call}` {how}",
            note=f"the second call raises {ERROR_TEXT}{protocol_edits.while_enabled(found)}",
            related=_related(file, found, branch, again),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "on some path the second call may be the only one"),
        )


def _related(file: File, found: Found, branch: cst.If | None, again: bool) -> tuple[Related, ...]:
    if branch is not None:
        return file.related("`update` does not run if this goes the other way", branch.test)
    return () if again else hazard_calls.related(file, found, first="already called here")


def _leaving_out(file: File, found: Found) -> cst.If | None:
    """The branch that leaves the step and the update out, where that is why the next iteration unscales a second time.

    Two conditions may agree in a way that the text does not show: what may keep `unscale_` from running keeps the step, too.
    """
    first, steps = found.related["first"], found.calls(ScalerStep)
    hacked = any(node.attr.value == "_per_optimizer_states" for node in file.tree.find(cst.Attribute))
    if STEP_LEFT_OUT not in found.hazard.details or found.origin is not None or hacked or not steps:
        return None
    branches = []
    for step in steps:
        block = hazard_calls.common_block(file, first, step)
        if block is None or any(hazard_calls.varies(file, each) for each in hazard_calls.guards(file, first, block)):
            return None
        guards = hazard_calls.guards(file, step, block)
        branches += [each for each in guards[-1:] if isinstance(each, cst.If) and hazard_calls.varies(file, each)]
    return branches[0] if len(branches) == len(steps) else None


def mend(file: File, found: Found) -> Fix | None:
    """Remove the second call; None where it may be the first one on some path, or is all that its block holds."""
    first, second = file.editor.statement(found.related["first"]), file.editor.statement(found.node)
    if not isinstance(first, cst.SimpleStatementLine) or not isinstance(second, cst.SimpleStatementLine):
        return None
    start, end = file.tree.span(first)[0], file.tree.span(second)[0]
    updates = found.calls(ScalerUpdate)
    always = hazard_calls.holds(file, file.editor.block(first), second) and start < end
    if not always or len(file.editor.siblings(second)) == 1:
        return None
    if any(start < file.tree.span(update)[0] < end for update in updates):
        return None
    return Fix("Remove the second `unscale_`", (protocol_edits.without(file, second),))
