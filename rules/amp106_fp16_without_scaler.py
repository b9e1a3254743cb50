"""A float16 loss is propagated, and nothing scales its gradients.

## What it does
Flags the backward pass of a loss from a float16 autocast region whose optimizer is stepped without a `GradScaler`. You
need not have written float16: it is the default of `torch.autocast` on CUDA, XPU and MPS, and an option or a test of the
GPU may choose it.

## Why it matters
float16 holds no gradient at or below 2**-25 (2.98e-8): it becomes zero. Below 6e-5 gradients lose bits. How many you
lose depends on the size of the loss: next to none at a loss around 1, nearly all at one around 1e-4. A `GradScaler`
multiplies the loss by 65536 before the backward pass and divides the gradients afterwards, which brings them back.
PyTorch says nothing; your model just learns less than it could.

bfloat16 has the range of float32 and needs no scaler. On a GPU that has it, `dtype=torch.bfloat16` is the shorter way
out.

## Example
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    loss.backward()
    optimizer.step()
```

## Use instead
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
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
The fix makes a scaler before the outermost training loop, scales the loss, steps through the scaler, updates it, and
unscales before a clip. It is unsafe, because steps whose gradients overflow are skipped from then on, and because the
scaler's state belongs in your checkpoints. Where backward and step are not one pair in one loop of one function, for a
step with a closure, and where the function is called anew for each epoch or batch (its scaler would forget its scale),
the change to bfloat16 is shown instead, if nothing else in the file is float16: your GPUs have to compute in it, and it
has fewer digits.

## Limitations
If a scaler that may scale the loss, or a framework with its own, is in sight, the file is left to the other rules, but for
one thing: a branch that leaves out a scaler which is always made and enabled, under a region that is always on as well,
unless a test around it asks for the hardware, the precision or the scaler. A backward pass without an optimizer step is
taken for a test or a benchmark, and what is called a test, a measurement or a check for memory trains nothing.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, UNSAFE, Edit, Fix, NoFix
from amplint.facts.manual_loss_scaling import HandScaling
from amplint.facts.trial_code import Trials
from amplint.model.events import Backward, OptimizerStep, ZeroGrad
from amplint.model.observables import ZEROED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.model.torch.names import GRAD_SCALER, SHARDED_MODELS
from amplint.model.torch.precision import FLOAT16, named
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import create_scaler, hazard_calls, made_elsewhere, protocol_edits
from ._support.call_edits import has_star, insert_arguments, keyword, positionals
from ._support.float16_words import VANISHING
from ._support.unscaled_branches import may_be_float32

KIND = HazardKind.FP16_WITHOUT_SCALER
_NEEDS_NONE = "bfloat16 would need no scaler"
_ON = "the region is on where the scaler is left out, too: give it the same condition as `enabled`"
_BESIDE = NoFix("whether the region, or the scaler, is meant to be off here is not known")


@rule(
    "AMP106",
    KIND,
    WARNING,
    HIGH,
    "0.1.0",
    fix=UNSAFE,
    observable=Observable(ZEROED, devices=frozenset({"cuda", "cpu"})),
)
def check(file: File) -> Iterator[Finding]:
    by_hand = {scaled.backward for scaled in file.fact(HandScaling).found}  # AMP112 speaks of these
    for found in file.analysis.of(KIND, elsewhere=True):
        if found.node in by_hand or file.fact(Trials).is_in_one(found.node):
            continue
        beside = "beside-scaler" in found.hazard.details
        if beside and may_be_float32(file, found, found.related.get("step")):
            continue
        propagated = hazard_calls.receiver(found.origin or found.node)
        loss = "the loss"
        if propagated is not None:
            loss = f"`{protocol_edits.fit_for_message(file.tree.text(propagated), 'loss')}`"
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"No `GradScaler` protects the float16 gradients of {loss} from underflow",
            note=f"gradients of at most {VANISHING} silently become zero; {_ON if beside else _NEEDS_NONE}",
            related=(
                *hazard_calls.related(file, found, step="stepped without a scaler here"),
                *made_elsewhere.float16_region(file, found),
            ),
            defect=hazard_calls.defect(found),
            fix=_BESIDE if beside else _fix(file, found),
        )


def _fix(file: File, found: Found) -> Fix | NoFix:
    return (
        (mend(file, found) if found.whole else None)
        or in_bfloat16(file)
        or NoFix("the training is not one plain loop that a scaler can be added to")
    )


def mend(file: File, found: Found) -> Fix | None:
    """Put the loop under a scaler; None unless it is one plain loop, or where one was made and forgotten."""
    backward, step = found.node, found.related.get("step")
    if any(file.names.references(GRAD_SCALER | SHARDED_MODELS)):
        return None
    if not isinstance(backward, cst.Call) or not isinstance(step, cst.Call) or not isinstance(step.func, cst.Attribute):
        return None
    pair = (found.at_home(Backward), found.at_home(OptimizerStep))
    line = file.editor.statement(step)
    if pair != ([backward], [step]) or step.args or not isinstance(line, cst.SimpleStatementLine):
        return None
    between = file.tree.span(backward), file.tree.span(step)
    if any(between[0] < file.tree.span(cleared) < between[1] for cleared in found.at_home(ZeroGrad)):
        return None  # a scaler does not step without gradients
    loop = create_scaler.training_loop(file, backward, step)
    made = create_scaler.construct(file, loop, step.func.value) if loop is not None else None
    if made is None or between[1] < between[0]:
        return None
    scaler, optimizer = made.name, hazard_calls.base_text(file, step)
    scaled = protocol_edits.scale_loss(file, backward, scaler)
    unscaled = protocol_edits.unscale_before_readers(file, found, step, scaler, optimizer)
    if scaled is None or unscaled is None or "\n" in optimizer:
        return None
    stepped = protocol_edits.step_through(file, step, scaler)
    updated = file.editor.insert_after(line, f"{scaler}.update()")
    edits = protocol_edits.merged(*made.edits, *scaled, *unscaled, *stepped, updated)
    return Fix("Add a `GradScaler` to the loop", edits, UNSAFE)


def in_bfloat16(file: File) -> Fix | None:
    """All regions in bfloat16; None where something else in the file is float16, or says which precision is meant."""
    regions = [call for call in file.tree.find(cst.Call) if file.contexts.sources(call) == [call]]
    half = [call for call in regions if file.contexts.settings(call).dtype == "float16"]
    mentions = list(file.names.references(named(FLOAT16)))
    if not half or any(file.tree.enclosing(node, cst.Call) not in half for node in mentions):
        return None
    edits: list[Edit] = []
    for call in half:
        given = keyword(call, "dtype") or next(iter(positionals(call)[1:2]), None)
        if file.contexts.settings(call).device != "cuda" or has_star(call):
            return None
        spelling, imports = file.importer.get("torch.bfloat16", call.func)
        edits += imports
        if given is None:
            edits += insert_arguments(file, call, [f"dtype={spelling}"], (), len(call.args))
        elif given.value in mentions:
            edits.append(file.editor.replace(given.value, spelling))
        else:
            return None
    return Fix("Compute in bfloat16, which needs no scaler", file.importer.joined(edits), DISPLAY)
