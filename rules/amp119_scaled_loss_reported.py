"""The loss that is logged or added up is the scaled one.

## What it does
Flags where the value of `scaler.scale(loss)` is printed, logged, added to a total or kept in a list, also through other
names and the returns of helpers.

## Why it matters
Your training is right, your report is not. It shows the loss times the scale, 65536 at first, and jumps by a factor of
two whenever the scale changes: a loss of 0.5 is shown as 32768. Two runs cannot be compared, and early stopping or the
choice of the best checkpoint follows the scale instead of the model.

Testing the scaled loss for finiteness, and dividing it by the scale before you report it, are both fine.

## Example
```python
import torch

total = 0.0
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaled = scaler.scale(loss)
    scaled.backward()
    total += scaled.item()
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch

total = 0.0
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaled = scaler.scale(loss)
    scaled.backward()
    total += loss.item()
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix reports the loss that was given to `scale`, and is safe if that has a name. It is unsafe if it has none: an
expression (`loss / steps`) is computed again for the report. If the scaled loss has taken the name of the loss, the
assignment goes and the backward pass scales (`scaler.scale(loss).backward()`), which changes the name for all its
readers: unsafe, too. You get no fix where the loss is computed by a call within `scale(...)`, and where it is scaled in
another function.

## Limitations
A value that is returned to another file, or kept as an attribute and reported elsewhere, is not followed.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.scale
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Edit, Fix, NoFix
from amplint.model.events import Scale
from amplint.model.observables import REPORTED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import hazard_calls, optimizer_notes, protocol_edits

KIND = HazardKind.SCALED_LOSS_REPORTED
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


@rule("AMP119", KIND, WARNING, HIGH, "0.1.0", fix=SAFE, observable=Observable(REPORTED))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND):
        value, scale = _scaled(file, found)
        shown = protocol_edits.fit_for_message(file.tree.text(value), "The scaled loss")
        shown = shown if shown.startswith("The") else f"`{shown}`"
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"{shown} is reported while still multiplied by the scale of `{found.scaler_name}`",
            note=f"what is reported is {optimizer_notes.initial_scale(found)} times the loss at first, and jumps with the scale",
            related=file.related("scaled here", (scale or _scaled_before(found)) if scale is not value else None),
            fix=mend(file, value, scale) or NoFix("the unscaled loss has no plain name here"),
        )


def _scaled(file: File, found: Found) -> tuple[cst.BaseExpression, cst.Call | None]:
    """What is reported, and the only call of `scale`, in the same function, that it comes from."""
    values = found.reported
    calls = [call for call in found.at_home(Scale) if isinstance(call, cst.Call)]
    for value in values:
        name = file.tree.text(value)
        scale = (
            value
            if isinstance(value, cst.Call)
            else hazard_calls.only(call for call in calls if name in _targets(file, call))
        )
        if scale is not None:
            return value, scale
    return values[0], None


def _scaled_before(found: Found) -> cst.Call | None:
    """The only call of `scale` on the paths that lead to a report, in whatever function it is."""
    return hazard_calls.only(node for _, node in found.events(Scale) if isinstance(node, cst.Call))


def _targets(file: File, call: cst.Call) -> list[str]:
    assign = file.tree.parent(call)
    return [file.tree.text(each.target) for each in assign.targets] if isinstance(assign, cst.Assign) else []


def mend(file: File, value: cst.BaseExpression, scale: cst.Call | None) -> Fix | None:
    """Report what `scale` was given; None where that has no name, and cannot get one without being computed twice."""
    if scale is None:
        return None
    loss = scale.args[0].value
    text = file.tree.text(loss)
    alone = isinstance(loss, _ATOMS) or not isinstance(file.tree.parent(value), cst.Attribute)
    edit = file.editor.replace(value, text if alone else f"({text})")
    title = f"Report `{protocol_edits.fit_for_message(text, 'the loss')}`"
    if value is scale:
        return Fix(title, (edit,))
    names = [node for node in protocol_edits.inside(loss) if isinstance(node, (cst.Name, cst.Attribute))]
    if any(file.tree.text(node) == file.tree.text(value) for node in names):
        return _scale_in_place(file, value, scale)
    if any(isinstance(node, cst.Call) for node in protocol_edits.inside(loss)) or _rebound(file, loss, scale, value):
        return None
    return Fix(title, (edit,), SAFE if loss in names[:1] else UNSAFE)


def _rebound(file: File, loss: cst.BaseExpression, scale: cst.Call, value: cst.BaseExpression) -> bool:
    """Whether something in the loss is assigned anew between its scaling and the report."""
    first, last = sorted((file.tree.span(scale), file.tree.span(value)))
    names = [node for node in protocol_edits.inside(loss) if isinstance(node, cst.Name)]
    bound = [each.node for node in names for each in file.names.bindings(node.value, node)]
    return any(node is not None and first < file.tree.span(node) < last for node in bound)


def _scale_in_place(file: File, value: cst.BaseExpression, scale: cst.Call) -> Fix | None:
    """Scale in the backward pass, so that the name keeps the loss; None unless both stand in one block, and nothing between."""
    line = file.editor.statement(scale)
    assign = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(assign, cst.Assign) or assign.value is not scale:
        return None
    name = file.tree.text(value)
    siblings = list(file.editor.siblings(line))
    following = siblings[siblings.index(line) + 1 :]
    backward = next((call for each in following[:1] if (call := _backward_of(each, name, file)) is not None), None)
    if backward is None or len(assign.targets) != 1 or file.tree.as_written(line).trailing_whitespace.comment:
        return None
    edits: tuple[Edit, ...] = (file.editor.delete(line), file.editor.replace(backward, file.tree.text(scale)))
    return Fix(f"Scale `{name}` in the backward pass only", edits, UNSAFE)


def _backward_of(statement: cst.CSTNode, name: str, file: File) -> cst.BaseExpression | None:
    """The loss in a statement that is nothing but its backward pass."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=cst.Attribute(value=loss, attr=attr)))]):
            return loss if attr.value == "backward" and file.tree.text(loss) == name else None
    return None
