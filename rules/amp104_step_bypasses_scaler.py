"""An optimizer is stepped directly on gradients that belong to a scaler.

## What it does
Flags `optimizer.step()` after `scaler.scale(loss).backward()`, also where `scaler.unscale_(optimizer)` has run in
between: then the gradients are right, but an overflow is not skipped. It flags the step, too, if `scaler.step(optimizer)`
has just taken the same one: then each batch counts twice.

## Why it matters
`scaler.step(optimizer)` divides the gradients by the scale and leaves the step out when one of them is not finite. A
direct step does neither. SGD moves your weights 65536 times too far. Adam divides every gradient by its own size, so
the updates hardly change and the loss curve looks healthy, but the first overflow turns weights into NaN for good, L2
weight decay shrinks to 1/65536 of what you asked for, and each change of the scale distorts the running averages.
PyTorch notices only if `scaler.update()` follows and no other step was checked:
`AssertionError: No inf checks were recorded prior to update.`

A second optimizer whose loss you never scale is fine, and so is a step that you take only after testing the unscaled
gradients for overflow yourself.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    optimizer.step()
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
The fix writes `scaler.step(optimizer)`, and adds `scaler.update()` behind it if the scaler is never updated. If the
scaler takes the same step already, the direct one is removed. It is safe where the scaler has a name at the step. You
get no fix for a step with a closure, for gradients of which only a part was scaled, in a helper that the scaler does
not reach, and where the scaler may be None.

## Limitations
The step is judged together with the backward pass before it, so both have to be in one function or in functions that
call each other.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.cuda.amp.GradScaler.step
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.model.events import Backward, Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.model.observables import NORM_SEEN, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, optimizer_notes, protocol_edits

KIND = HazardKind.STEP_BYPASSES_SCALER
UPDATE_ERROR = "`AssertionError: No inf checks were recorded prior to update.`"


@rule("AMP104", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True, halves=True):
        step = protocol_edits.fit_for_message(file.tree.text(found.act), "optimizer.step()")
        scaler = found.scaler_name
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{step}` bypasses `{scaler}`, which scaled the gradients",
            note=consequence(file, found),
            related=hazard_calls.related(file, found, scaled="scaled here"),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "the step cannot be put through the scaler as it is written"),
        )


def consequence(file: File, found: Found) -> str:
    """What a direct step does: to this optimizer, where its class is known, and to the scaler's next update."""
    scaler = found.scaler_name
    optimizer = hazard_calls.receiver(found.act)
    made = optimizer_notes.constructor(file, optimizer) if optimizer is not None else None
    if found.scaler.made and found.calls(ScalerUpdate) and not _checks_some_gradients(file):
        error = f"{UPDATE_ERROR}{protocol_edits.while_enabled(found)}"
        return f"no gradient is checked for inf, so `{scaler}.update()` raises {error}"
    return _effect(file, made, found)


def _checks_some_gradients(file: File) -> bool:
    """Whether the file has a call that looks for overflows, without which `update` refuses to work."""
    return bool(protocol_edits.scaler_methods(file, "step") or protocol_edits.scaler_methods(file, "unscale_"))


def _effect(file: File, made: cst.Call | None, found: Found) -> str:
    scale = optimizer_notes.initial_scale(found)
    skipped = "an overflow leaves non-finite weights"
    if "unscaled" in found.hazard.details:
        return f"the gradients are unscaled, but nothing skips the step: {skipped}"
    if "again" in found.hazard.details:
        return f"the scaler has taken this step: it is taken twice, and where the scaler skips it, {skipped}"
    name = optimizer_notes.class_name(file, made)
    if "mixed" in found.hazard.details:
        return f"one loss counts {scale} times more than the other at first, and {skipped}"
    if name == "SGD":
        return f"the weights move {scale} times too far at first, and {skipped}"
    if optimizer_notes.decays_through_gradient(file, made):
        return f"the updates of {name} hide the scale, but the weight decay is divided by it, and {skipped}"
    if optimizer_notes.is_adaptive(name):
        return f"the updates of {name} hide the scale, but {skipped}"
    return f"SGD moves the weights {scale} times too far at first, Adam hides the factor; under either, {skipped}"


def mend(file: File, found: Found) -> Fix | NoFix | None:
    """Step through the scaler; None where it has no name, may be None, or cannot do what the optimizer was asked for."""
    step, scaled = found.node, found.related.get("scaled")
    if not isinstance(step, cst.Call) or not isinstance(step.func, cst.Attribute) or step.args or scaled is None:
        return None
    scaler = protocol_edits.scaler_at(file, found, step, Scale, Unscale, ScalerStep, ScalerUpdate)
    if scaler is None:
        return protocol_edits.NO_NAME
    if "mixed" in found.hazard.details:
        return NoFix("another loss is not scaled, and the scaler would divide its gradients, too")
    if "\n" in file.tree.text(step):
        return None
    if protocol_edits.amp_guards(file, scaled, step) and not protocol_edits.always_made(file, found, scaler):
        return protocol_edits.MAY_BE_OFF
    if double := _also_through_scaler(file, found, step):
        return _without(file, found, step, double)
    if any(_runs_before(file, step, late) for late in found.calls_at_home(Unscale)):
        return NoFix("the scaler does not unscale behind a step")
    if not _is_always_updated(file, found, step):
        return NoFix("`update` does not run behind each step, and the next one would raise")
    text, optimizer = file.tree.text(scaler), hazard_calls.base_text(file, step)
    update = _update(file, found, step, text)
    if update is None:
        return None
    title = f"Replace with `{text}.step({optimizer})`" + (f" and add `{text}.update()`" if update else "")
    return Fix(title, protocol_edits.merged(file.editor.replace(step, f"{text}.step({optimizer})"), *update))


def _runs_before(file: File, step: cst.Call, other: cst.Call) -> bool:
    """Whether one call stands above another one in the same loop."""
    loop = file.tree.enclosing(step, cst.For, cst.While)
    return file.tree.enclosing(other, cst.For, cst.While) is loop and file.tree.span(step) < file.tree.span(other)


def _is_always_updated(file: File, found: Found, step: cst.Call) -> bool:
    """Whether one of the updates of the loop is asked nothing that the step is not asked as well; or there is none."""
    around = [*file.tree.ancestors(step)]
    updates = [
        each for each in found.calls_at_home(ScalerUpdate) if file.tree.enclosing(each, cst.For, cst.While) in around
    ]
    always = (each for each in updates if not protocol_edits.asked_only_there(file, each, step))
    return not updates or any(not protocol_edits.is_left_between(file, step, each) for each in always)


def _also_through_scaler(file: File, found: Found, step: cst.Call) -> cst.Call | None:
    """A step of the same optimizer through the scaler, with the bypassing one in its block or around it: both run."""
    for other in found.calls_at_home(ScalerStep):
        if hazard_calls.common_block(file, step, other) in (_block(file, step), _block(file, other)):
            return other
    return None


def _block(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    return file.tree.enclosing(node, cst.IndentedBlock, cst.Module)


def _without(file: File, found: Found, step: cst.Call, through_scaler: cst.Call) -> Fix | None:
    """Remove a step that the scaler takes as well: a second `scaler.step` would raise. None where it is not the same step."""
    line = file.editor.statement(step)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    (_, end), (start, _) = sorted((file.tree.span(step), file.tree.span(through_scaler)))
    apart = (Backward,) if "again" in found.hazard.details else (Backward, ScalerUpdate)
    between = (file.tree.span(node)[0] for node in found.at_home(*apart))
    if _block(file, step) is not _block(file, through_scaler) or any(end <= other < start for other in between):
        return None
    return Fix(f"Remove `{file.tree.text(step)}`: the scaler takes this step", (protocol_edits.without(file, line),))


def _update(file: File, found: Found, step: cst.Call, scaler: str) -> list[Edit] | None:
    """The `update()` that the iteration needs; [] where the scaler is updated already, None where it has no clear place."""
    updated = (file.tree.text(function.value) for function in protocol_edits.scaler_methods(file, "update"))
    if found.calls(ScalerUpdate) or scaler in updated:
        return []
    if found.calls(ScalerStep) or "[" in found.hazard.optimizer:
        return None
    lines = [file.editor.statement(other) for other in _bypassing(file, found)]
    blocks = {file.editor.block(line) for line in lines if isinstance(line, cst.SimpleStatementLine)}
    if None in lines or len(blocks) != 1:
        return None
    statement = file.editor.statement(step)
    if statement is not lines[-1]:
        return []  # the fix of the last step adds the update
    return [file.editor.insert_after(statement, f"{scaler}.update()")] if statement is not None else None


def _bypassing(file: File, found: Found) -> list[cst.CSTNode]:
    """All steps of the function that bypass the same scaler, in order: they share one update."""
    home = file.tree.enclosing(found.node, cst.FunctionDef)
    same = [other.node for other in file.analysis.of(KIND) if other.hazard.scaler == found.hazard.scaler]
    return sorted((node for node in same if file.tree.enclosing(node, cst.FunctionDef) is home), key=file.tree.span)
