"""Gradients are clipped while they are still multiplied by the loss scale.

## What it does
Flags clipping (`clip_grad_norm_`, `clip_grad_value_`, `clip_grads_with_norm_`, hand-written clamping of `.grad`) on a path on
which the gradients come from `scaler.scale(loss).backward()` and `scaler.unscale_(optimizer)` has not run yet. An
`unscale_` that follows the clip comes too late and is flagged all the same.

## Why it matters
Until `unscale_` runs, every gradient is multiplied by the scale, 65536 at the start. A threshold of `max_norm` then acts
like `max_norm / 65536` on the true gradients: nearly every step is shortened to that length. With SGD training stands still;
with Adam the loss curve hides it, while every update is normalised. `clip_grad_value_` does more harm: it turns an infinite
gradient into a finite one before the scaler can see the overflow, so the step is taken and the scale never falls.
PyTorch raises nothing.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
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
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix inserts `scaler.unscale_(optimizer)` before the clip, or moves the one that stands after it. `scaler.step` knows that
the gradients are unscaled already. It is safe where one optimizer owns the clipped parameters and clip and step run in the
same iterations. There is no fix where several optimizers share the clip, where the clip runs for every micro-batch of an
accumulation (a second `unscale_` would raise), where the scaler may be None, and where optimizer or scaler is out of reach.

## Limitations
Clipping in a function that neither runs the backward pass nor is called, in the same file, after one is not judged: its
caller may have unscaled. Thresholds multiplied by `scaler.get_scale()` are right and not flagged.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Applicability, Edit, Fix
from amplint.model.events import OptimizerStep, Scale, ScalerStep, Unscale
from amplint.model.literals import number
from amplint.model.observable import NORM_SEEN, Observable
from amplint.rule import File, Finding, Found, rule

from . import _protocol as protocol
from . import _repair

KIND = "clip-before-unscale"


@rule("AMP101", KIND, fix=Applicability.SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND):
        scaler = found.hazard.scaler.removeprefix("::")
        yield Finding(
            file.range(protocol.callee_range(file, found.node)),
            f"Gradients are clipped while still scaled by `{scaler}`",
            note=consequence(found),
            related=protocol.related(file, found, scaled="scaled here"),
            fix=repair(file, found),
        )


def consequence(found: Found) -> str:
    """What the clip does to the true gradients, in the author's own numbers where they are known."""
    by, limit = found.hazard.details
    scale_text = found.scaler.init_scale or "65536.0"
    threshold, scale = number(limit), number(scale_text)
    effective = f"`{limit}` / {scale_text}" if threshold is None or not scale else f"{threshold / scale:.3g}"
    if by == "norm":
        return f"at the initial scale the true gradients are cut to norm {effective}, not to `{limit}`."
    if by == "value":
        return (
            f"at the initial scale each true gradient is cut to {effective}, not to `{limit}`, and an overflow becomes "
            "finite before the scaler can see it."
        )
    return "the threshold meets gradients that are multiplied by the scale, 65536 at first."


def repair(file: File, found: Found) -> Fix | None:
    """`unscale_` before the first clip of these gradients; None where it could raise, or has no name for its objects."""
    step, scaler, optimizer = _spelled(file, found)
    first = _first_clip(file, found)
    block = protocol.common_block(file, first, step) if step is not None else None
    if step is None or block is None or not found.hazard.optimizer or not _runs_with_step(file, found, step, block):
        return None
    read = _first_reading(file, found, first)
    anchor = protocol.before_loops(file, first, block) if read is None else file.editor.member_of(read, block)
    clip = file.editor.statement(anchor) if anchor is not None else None
    if clip is None or clip in file.tree.ancestors(found.related["scaled"]):
        return None
    late = [call for call in protocol.calls(file, found, Unscale) if file.tree.span(call) > file.tree.span(clip)]
    if not late:
        insertion = file.editor.insert_before(clip, f"{scaler}.unscale_({optimizer})")
        return Fix(f"Add `{scaler}.unscale_({optimizer})` before the clip", (insertion,))
    return _move(file, late, clip, f"{scaler}.unscale_({optimizer})")


def _spelled(file: File, found: Found) -> tuple[cst.Call | None, str, str]:
    """The step that takes the clipped gradients, and how scaler and optimizer are written there."""
    step = protocol.only(protocol.calls(file, found, ScalerStep))
    if step is not None:
        return step, protocol.base_text(file, step), protocol.argument_text(file, step)
    step, scale = (
        protocol.only(protocol.calls(file, found, OptimizerStep)),
        next(protocol.calls(file, found, Scale), None),
    )
    if step is None or scale is None:
        return None, "", ""
    return step, protocol.base_text(file, scale), protocol.base_text(file, step)


def _first_clip(file: File, found: Found) -> cst.CSTNode:
    """One `unscale_` serves all clips of the same gradients: the fixes of the later ones are the fix of the first."""
    home = file.tree.enclosing(found.node, cst.FunctionDef)
    same = [
        other.node
        for other in file.analysis.of(KIND)
        if file.tree.enclosing(other.node, cst.FunctionDef) is home
        and (other.hazard.scaler, other.hazard.optimizer, other.hazard.at("scaled"))
        == (found.hazard.scaler, found.hazard.optimizer, found.hazard.at("scaled"))
        and (other.node is found.node or _comes_always(file, other.node, found.node))
    ]
    return min(same, key=lambda node: file.tree.span(node))


def _comes_always(file: File, clip: cst.CSTNode, later: cst.CSTNode) -> bool:
    """Whether a clip runs whenever a later one does: it stands in no branch of its own."""
    block = protocol.common_block(file, clip, later)
    return block is not None and all(
        isinstance(each, (cst.For, cst.While)) for each in protocol.guards(file, clip, block)
    )


def _first_reading(file: File, found: Found, clip: cst.CSTNode) -> cst.CSTNode | None:
    """Where gradients are first looked at between backward pass and clip: a norm measured there must be the true one too."""
    home = file.tree.enclosing(clip, cst.FunctionDef)
    after, before = file.tree.span(found.related["scaled"]), file.tree.span(clip)
    readings = [
        node
        for node in file.tree.find(cst.Attribute)
        if node.attr.value == "grad" and file.tree.enclosing(node, cst.FunctionDef) is home
        if after < file.tree.span(node) < before
    ]
    return min(readings, key=file.tree.span, default=None)


def _runs_with_step(file: File, found: Found, step: cst.Call, block: cst.CSTNode) -> bool:
    """Whether the step runs whenever the clip does; or is guarded by the question of AMP, and the scaler exists anyway."""
    guards = protocol.guards(file, step, block)
    if not guards:
        return True
    assert isinstance(step.func, cst.Attribute)
    always = _repair.always_made(file, found, step.func.value)
    return always and all(protocol.asks_for_amp(file, guard) for guard in guards)


def _move(file: File, late: list[cst.Call], clip: cst.CSTNode, text: str) -> Fix | None:
    statement = file.editor.statement(late[0])
    target = file.editor.statement(clip)
    if len(late) > 1 or not isinstance(statement, cst.SimpleStatementLine) or target is None:
        return None
    block = file.editor.block(statement)
    anchor = file.editor.member_of(clip, block) if block is not None else None
    if anchor is None:
        return None
    edits: list[Edit] = file.editor.move_before(statement, anchor)
    return Fix(f"Move `{text}` before the clip", tuple(sorted(edits)))
