"""The loss is multiplied by a constant by hand, and the gradients are divided by it.

## What it does
Flags a loss that you multiply by a large factor (64 or more, or one that is called a scale) before the backward pass if
the gradients are divided by the same factor afterwards, in a file that computes in float16.

## Why it matters
A constant factor does what a `GradScaler` does, as long as it fits: 128 or 1024 give the same gradients. But nobody
watches it. If it is too large, gradients become inf, stay inf when they are divided, and reach your parameters, which
never recover: with a factor of 65536 all of 16 gradients were inf. If it is too small, gradients vanish as if it were
not there. A scaler leaves such steps out, lowers its scale, and raises it again later.

If you test the gradients for overflow yourself, you have written a scaler; that is fine, and silent. So are loss
weights, which nobody divides by.

## Example
```python
import torch

for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    (loss * 1024).backward()
    for parameter in model.parameters():
        parameter.grad.div_(1024)
    optimizer.step()
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
The fix is only shown: it makes a scaler, which scales the loss, unscales the gradients and takes the step. You know
whether the factor is used elsewhere, for a threshold or a report. There is none unless loss, division and step stand in
one plain loop.

## Limitations
A division in another file, or by a factor under another name, is not recognised.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Fix, NoFix
from amplint.facts.manual_loss_scaling import HandScaled, HandScaling
from amplint.model.observables import OVERFLOWED, Observable
from amplint.rule import MEDIUM, WARNING, File, Finding, Statement, rule

from ._support import create_scaler, hazard_calls, protocol_edits


@rule("AMP112", "manual-loss-scaling", WARNING, MEDIUM, "0.1.0", fix=DISPLAY, observable=Observable(OVERFLOWED))
def check(file: File) -> Iterator[Finding]:
    for scaled in file.fact(HandScaling).found:
        factor = protocol_edits.fit_for_message(file.tree.text(scaled.factor), "a constant")
        yield Finding(
            file.range(scaled.multiplication),
            f"The loss is scaled by hand: nothing notices when the factor `{factor}` overflows gradients",
            note="an inf divided by the factor is still inf, and reaches the parameters; a `GradScaler` would skip that step",
            related=file.related("divided by the factor again here", scaled.undone[0]),
            fix=suggest(file, scaled) or NoFix("the training is not one plain loop that a scaler can be added to"),
        )


def suggest(file: File, scaled: HandScaled) -> Fix | None:
    """A scaler that scales, unscales and steps in the author's place; None unless all of it stands in one plain loop."""
    step = _step(file, scaled.backward)
    loop = create_scaler.training_loop(file, scaled.backward, step) if step is not None else None
    line = file.editor.statement(step) if step is not None else None
    division = _division(file, scaled, line) if line is not None else None
    product = scaled.multiplication
    if step is None or loop is None or line is None or division is None or isinstance(product, cst.AugAssign):
        return None
    assert isinstance(step.func, cst.Attribute) and isinstance(scaled.backward.func, cst.Attribute)
    made = create_scaler.construct(file, loop, step.func.value)
    if made is None:
        return None
    optimizer, loss = file.tree.text(step.func.value), file.tree.text(scaled.loss)
    propagated = scaled.backward.func.value
    edits = [*made.edits, file.editor.replace(step, f"{made.name}.step({optimizer})")]
    edits.append(file.editor.insert_after(line, f"{made.name}.update()"))
    edits.append(
        file.editor.replace_rows(*file.editor.rows(division), [_indented(file, division, made.name, optimizer)])
    )
    if propagated is product:
        edits.append(file.editor.replace(scaled.backward, f"{made.name}.scale({loss}).backward()"))
    else:
        edits.append(file.editor.replace(product, loss))
        edits.append(file.editor.replace(propagated, f"{made.name}.scale({file.tree.text(propagated)})"))
    return Fix(
        f"Let a `GradScaler` scale `{protocol_edits.fit_for_message(loss, 'the loss')}`",
        protocol_edits.merged(*edits),
        DISPLAY,
    )


def _step(file: File, backward: cst.Call) -> cst.Call | None:
    """The only step of an optimizer in the function of a backward pass."""
    home, roles = file.tree.enclosing(backward, cst.FunctionDef), file.roles
    calls = (call for call in file.tree.find(cst.Call) if file.tree.enclosing(call, cst.FunctionDef) is home)
    return hazard_calls.only(
        call
        for call in calls
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "step" and not call.args
        if roles.of(call.func.value).role == "optimizer"
    )


def _division(file: File, scaled: HandScaled, step: Statement) -> Statement | None:
    """The loop that divides the gradients and does nothing else, in the block of the step."""
    block = file.editor.block(step)
    if block is None or len(scaled.undone) != 1:
        return None
    loop = file.editor.member_of(scaled.undone[0], block)
    if not isinstance(loop, cst.For) or "#" in file.tree.text(loop):
        return None
    inside = [node for node in protocol_edits.inside(loop.body) if isinstance(node, cst.BaseSmallStatement)]
    return loop if inside == [scaled.undone[0]] else None


def _indented(file: File, statement: Statement, scaler: str, optimizer: str) -> str:
    return f"{file.editor.indent(statement)}{scaler}.unscale_({optimizer})"
