"""A gradient that becomes part of a loss is computed in float16 unscaled, or is scaled and never unscaled.

## What it does
Flags `torch.autograd.grad(..., create_graph=True)`, as gradient penalties use it, in two cases: its outputs come from a
float16 region and are not scaled, although a scaler scales your losses; or they are scaled, and nothing in the function
divides by the scale.

## Why it matters
The inner backward pass runs in float16 like the outer one, but your scaler knows nothing of it: gradients at or below
2**-25 become zero on the way. With an ordinary critic you lose nothing. With one whose output is 10,000 times smaller,
72 % of the elements were zero, and the norm that was penalised came out as 2.9e-6 instead of 1.7e-6. The other way
round, a penalty on gradients that are still scaled sees 65536 times their norm: 2.9e8 instead of 0.55.

Inner gradients in float32 (in a region with `enabled=False`, say) and in bfloat16 need no scaling, and are silent.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    gradient = torch.autograd.grad(loss, weight, create_graph=True)[0]
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss + gradient.norm()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    gradient = torch.autograd.grad(scaler.scale(loss), weight, create_graph=True)[0] / scaler.get_scale()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss + gradient.norm()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix scales the outputs and divides the gradients by the scale, as PyTorch's documentation does. It is unsafe: nobody
knows how large your critic's outputs are, and an overflow of the inner gradients now makes the scaler skip the step.
You get no fix where the scaler is out of reach or may be None, and where the gradients are unpacked.

## Limitations
Only `create_graph=True` and `create_graph=self.training` count. A division by the scale anywhere in the function is
taken for the right one.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-penalty
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.model.events import Scale, ScalerStep, ScalerUpdate
from amplint.model.observables import INNER_GRADIENTS, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import hazard_calls, optimizer_notes, protocol_edits
from ._support.float16_words import VANISHING
from ._support.optional_scalers import may_be_left_out

KIND = HazardKind.GRADIENT_PENALTY_UNSCALED


@rule("AMP116", KIND, WARNING, HIGH, "0.1.0", fix=UNSAFE, observable=Observable(INNER_GRADIENTS))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        unscaled = found.hazard.details == ("unscaled",)
        scaler, scale = found.scaler_name, optimizer_notes.initial_scale(found)
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            "The gradients for a penalty are computed in float16 without loss scaling"
            if unscaled
            else f"The gradients for a penalty are still multiplied by the scale of `{scaler}`",
            note=f"no scaler scales this inner backward pass: gradients of at most {VANISHING} silently become zero"
            if unscaled
            else f"the penalty is computed from gradients {scale} times too large at first; divide them by `get_scale()`",
            related=hazard_calls.related(file, found),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "the scaler or these gradients have no plain name here"),
        )


def mend(file: File, found: Found) -> Fix | NoFix | None:
    """Scale the outputs, and divide the gradients by the scale; None where scaler or gradients have no name."""
    call = found.node
    scaler = protocol_edits.scaler_at(file, found, call, Scale, ScalerStep, ScalerUpdate)
    if scaler is None or not isinstance(call, cst.Call):
        return None
    if may_be_left_out(file, scaler, call) and not protocol_edits.always_made(file, found, scaler):
        return protocol_edits.MAY_BE_OFF
    name = file.tree.text(scaler)
    divided = _divided(file, call, f"{name}.get_scale()")
    if divided is None:
        return None
    outputs = _outputs(call)
    if found.hazard.details == ("unscaled",):
        start, end = file.tree.span(outputs)
        edits = protocol_edits.merged(Edit(start, start, f"{name}.scale("), Edit(end, end, ")"), *divided)
        return Fix("Scale the outputs, and unscale the gradients", edits, UNSAFE)
    return Fix("Unscale the gradients", tuple(divided), UNSAFE)


def _outputs(call: cst.Call) -> cst.BaseExpression:
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "outputs"]
    return named[0] if named else call.args[0].value


def _divided(file: File, call: cst.Call, scale: str) -> list[Edit] | None:
    """The edit that divides what `autograd.grad` returns: the one gradient that is picked from it, or each of a tuple."""
    picked = file.tree.parent(call)
    if isinstance(picked, cst.Subscript) and picked.value is call:
        start, end = file.tree.span(picked)
        if isinstance(file.tree.parent(picked), cst.Assign):
            return [Edit(end, end, f" / {scale}")]
        return [Edit(start, start, "("), Edit(end, end, f" / {scale})")]
    line = file.editor.statement(call)
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=value)]
        ):
            if value is call:
                text = f"{name.value} = [gradient / {scale} for gradient in {name.value}]"
                return [file.editor.insert_after(line, text)]
    return None
