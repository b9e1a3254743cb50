"""A loss is propagated unscaled, and its optimizer steps through an enabled scaler.

## What it does
Flags `loss.backward()` where nothing has multiplied the loss with `scaler.scale`, and `scaler.step(optimizer)` then
uses the gradients. Calling `scaler.scale(loss)` and dropping the result scales nothing.

## Why it matters
`scaler.step` divides the gradients by the scale, 65536 at the start, whether or not anything has multiplied them. SGD
then moves 65536 times too little. Adam and its relatives keep going, but their eps outweighs the small gradients. And
the gradients of your float16 region are not protected from underflow, which is what the scaler is there for. If the
scaler has never scaled anything, PyTorch tells you: `AssertionError: Attempted step but _scale is None`. If only one of
several losses is forgotten, it says nothing.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    loss.backward()
    scaler.step(optimizer)
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
The fix writes `scaler.scale(loss).backward()`, removes a `scaler.scale(loss)` whose result was dropped, and adds
`scaler.unscale_(optimizer)` before a clip that would otherwise meet scaled gradients. It is safe where the scaler has a
name at the backward pass. You get no fix in a helper that the scaler does not reach, in the plain branch of a test for
AMP (either half could be the mistake), where the scaler may be None, and for `torch.autograd.backward`.

## Limitations
The backward pass is judged together with the step that uses its gradients, so both have to be in one function or in
functions that call each other. A pass that is given a gradient, or whose loss is made of gradients, is judged only where
that gradient is made of constants. Beside an accelerator of accelerate, the loop has to step nothing but optimizers that
were prepared in the same function, and no backward pass in it may be the accelerator's. A file that refuses a scaler for
some way of training (`assert self.scaler is None`) is left alone. What is called a test, a measurement or a check for
memory trains nothing.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.facts.passes_beside_accelerator import PassesBesideAccelerator
from amplint.facts.trial_code import Trials
from amplint.model.events import Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.model.observables import NORM_SEEN, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, optimizer_notes, protocol_edits
from ._support.gradient_caches import fills_cache

KIND = HazardKind.UNSCALED_BACKWARD


@rule("AMP103", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    yield from _in_paths(file)
    yield from _beside_accelerator(file)


def _beside_accelerator(file: File) -> Iterator[Finding]:
    for each in file.fact(PassesBesideAccelerator).found:
        accelerator = file.tree.text(hazard_calls.receiver(each.preparing) or each.preparing)
        loss = protocol_edits.fit_for_message(
            file.tree.text(hazard_calls.receiver(each.backward) or each.backward), "loss"
        )
        yield Finding(
            file.range(each.backward.func),
            f"The backward pass of `{loss}` is not scaled, although `{accelerator}` steps the optimizer through its scaler",
            note=f"an optimizer that `{accelerator}.prepare` was given steps through its scaler when the precision is fp16; "
            f"`{accelerator}.backward({loss})` scales",
            related=file.related("divided by the scale here", each.step),
            fix=NoFix(f"`{accelerator}.backward` also divides the loss by the number of accumulated batches"),
        )


def _in_paths(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True, halves=True):
        scaler = found.scaler_name
        if not scaler or is_scaled_otherwise(file, found) or _is_ruled_out(file, scaler):
            continue
        if file.fact(Trials).is_in_one(found.node) or fills_cache(file, found.node):
            continue
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"{_act(file, found)} not scaled, although `{scaler}` {_use(found)}",
            note=consequence(file, found),
            related=hazard_calls.related(file, found, step="divided by the scale here"),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, mend, "where this loss should be scaled is not clear"),
        )


def _is_ruled_out(file: File, scaler: str) -> bool:
    """Whether some way of training is refused with a scaler: `assert self.scaler is None`. A plain pass may be of that way."""
    tree = file.tree
    tests = [tree.enclosing(each, cst.If) for each in tree.find(cst.Raise)]
    refused = any(isinstance(each, cst.If) and f"{scaler} is not None" in tree.text(each.test) for each in tests)
    return refused or any(f"{scaler} is None" in tree.text(each.test) for each in tree.find(cst.Assert))


def _act(file: File, found: Found) -> str:
    if found.origin is not None and not found.is_half:
        return f"`{protocol_edits.call_for_message(file, found.node)}` runs the backward pass of a loss that is"
    return f"The backward pass of `{loss_of(file, found)}` is"


def _divisor(found: Found) -> str:
    """The method that divides the gradients: "step" or "unscale_"."""
    return hazard_calls.method(found.related.get("step")) or "step"


def _use(found: Found) -> str:
    return "unscales the gradients" if _divisor(found) == "unscale_" else "steps the optimizer"


def loss_of(file: File, found: Found) -> str:
    """The loss, as the author wrote it."""
    call = found.act
    if not isinstance(call, cst.Call):
        return "loss"
    if call.args and file.names.any_in(call.func, {"torch.autograd.backward"}):
        return protocol_edits.fit_for_message(file.tree.text(call.args[0].value), "loss")
    loss = hazard_calls.receiver(call)
    return protocol_edits.fit_for_message(file.tree.text(loss), "loss") if loss is not None else "loss"


def is_scaled_otherwise(file: File, found: Found) -> bool:
    """Whether, in the same function, another scaler scales this very loss: then that one steps what the loss trains."""
    loss, home = loss_of(file, found), file.tree.enclosing(found.node, cst.FunctionDef)
    scaled = [(method, file.tree.parent(method)) for method in protocol_edits.scaler_methods(file, "scale")]
    pairs = [
        (file.tree.text(method.value), file.tree.text(call.args[0].value))
        for method, call in scaled
        if isinstance(call, cst.Call) and call.args and file.tree.enclosing(call, cst.FunctionDef) is home
    ]
    scalers = {scaler for scaler, scaled_loss in pairs if scaled_loss == loss}
    return bool(scalers) and found.scaler_name not in scalers


def consequence(file: File, found: Found) -> str:
    """What the scaler does to gradients that nothing multiplied."""
    step = found.related.get("step")
    scaler = found.scaler_name
    scaled = [call for call in found.calls(Scale) if not is_dropped(file, call)]
    if never_scales(file, found):
        first = "unscale_" if found.calls(Unscale) else "step"
        error = f"`AssertionError: Attempted {first} but _scale is None`"
        return (
            f"no loss is scaled in this file, so `{scaler}.{first}` raises {error}{protocol_edits.while_enabled(found)}"
        )
    scale = optimizer_notes.initial_scale(found)
    divided = f"nothing multiplied these gradients, and `{scaler}.{_divisor(found)}` divides them by the scale, {scale} at first"
    if scaled or not isinstance(step, cst.Call) or not step.args:
        return f"{divided}: almost nothing of this loss is left"
    name = optimizer_notes.class_name(file, optimizer_notes.constructor(file, step.args[0].value))
    if name == "SGD":
        return f"{divided}: SGD moves the weights too little by that factor"
    if optimizer_notes.is_adaptive(name):
        return f"{divided}: the eps of {name} outweighs small gradients"
    return f"{divided}: SGD moves the weights too little, and Adam's eps outweighs small gradients"


def never_scales(file: File, found: Found) -> bool:
    """Whether the scaler lives in this file, and nothing in it is scaled by any scaler."""
    methods = (call.func.attr.value for call in file.tree.find(cst.Call) if isinstance(call.func, cst.Attribute))
    return found.scaler.made and not found.calls(Scale) and "scale" not in methods


def is_dropped(file: File, scale: cst.Call) -> bool:
    """Whether the result of `scaler.scale(loss)` goes nowhere."""
    return isinstance(file.tree.parent(scale), cst.Expr)


def mend(file: File, found: Found) -> Fix | NoFix | None:
    """Scale the loss; None where the scaler has no name, may be None, or may not have been meant."""
    step, backward = found.related.get("step"), found.node
    if not isinstance(step, cst.Call) or not isinstance(backward, cst.Call):
        return None
    scaler = protocol_edits.scaler_at(file, found, backward, ScalerStep, Scale, Unscale, ScalerUpdate)
    if scaler is None:
        return protocol_edits.NO_NAME
    may_be_off = protocol_edits.amp_guards(file, step, backward) and not protocol_edits.always_made(file, found, scaler)
    if may_be_off or protocol_edits.amp_guards(file, backward, step):
        return protocol_edits.MAY_BE_OFF
    if _is_perhaps_unscaled(file, found, backward):
        return NoFix("where `unscale_` has run before, a loss that is scaled would be too large")
    text = file.tree.text(scaler)
    edits, unscale = protocol_edits.scale_loss(file, backward, text), _unscale(file, found, step)
    if edits is None or unscale is None:
        return None
    title = f"Scale the loss: `{text}.scale({loss_of(file, found)}).backward()`"
    return Fix(title, protocol_edits.merged(*edits, *unscale, *_dropped(file, found, backward)))


def _is_perhaps_unscaled(file: File, found: Found, backward: cst.Call) -> bool:
    """Whether a backward pass may add to gradients that are unscaled already, and not used yet."""
    order, home = file.tree.order, file.tree.enclosing(backward, cst.FunctionDef, cst.For, cst.While)
    steps = [call for call in found.calls(ScalerStep) if order(call) < order(backward)]
    unscaled = [
        call
        for event, call in found.events(Unscale)
        if event.optimizer == found.hazard.optimizer and order(call) < order(backward)
        if file.tree.enclosing(call, cst.FunctionDef, cst.For, cst.While) is home
    ]
    return any(not any(order(call) < order(step) for step in steps) for call in unscaled)


def _unscale(file: File, found: Found, step: cst.Call) -> list[Edit] | None:
    """What reads the gradients, which the fix scales, gets them unscaled."""
    optimizer = found.hazard.optimizer
    if any(event.optimizer in (optimizer, "") for event, _ in found.events(Unscale)):
        return []
    scaler = hazard_calls.base_text(file, step)
    return protocol_edits.unscale_before_readers(file, found, step, scaler, hazard_calls.argument_text(file, step))


def _dropped(file: File, found: Found, backward: cst.Call) -> list[Edit]:
    """Remove a `scaler.scale(loss)` in the lines before that was meant to do what the fix does now."""
    statement = file.editor.statement(backward)
    siblings = list(file.editor.siblings(statement)) if statement is not None else []
    loss = loss_of(file, found)
    dropped = [call for call in found.calls(Scale) if is_dropped(file, call)]
    for call in dropped:
        line = file.editor.statement(call)
        if line is None or line not in siblings or file.tree.text(call.args[0].value) != loss:
            continue
        first, last = file.editor.rows(line)
        if not any("#" in row for row in file.editor.lines(first, last)):
            return [file.editor.delete(line)]
    return []
