"""An optimizer that needs a closure, or gets one, is stepped through a `GradScaler`.

## What it does
Flags `scaler.step(optimizer, closure)`, by position or by keyword, and `scaler.step` of an optimizer that was made as
`torch.optim.LBFGS`, unless the scaler is disabled: then it just hands the closure on.

## Why it matters
An enabled scaler unscales the gradients, looks for inf and NaN, and then lets the optimizer step. A closure computes
gradients anew after all that. Given by keyword, even as `closure=None`, PyTorch refuses it:
`RuntimeError: Closure use is not currently supported if GradScaler is enabled.` Given by position it goes through in
silence, and if it runs a scaled backward pass, your optimizer uses gradients that are still scaled and that nobody has
checked: a step of SGD moved a weight by 3604. `LBFGS` without a closure raises a `TypeError`.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer, closure)
    scaler.update()
```

## Use instead
```python
import torch

for data, target in loader:

    def closure():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(data), target)
        loss.backward()
        return loss

    optimizer.step(closure)
```

## Fix safety
There is no fix: such an optimizer wants bfloat16, or float32, and no scaler.

## Limitations
Optimizers of other libraries that cannot do without a closure are flagged only where they get one. A wrapper that
passes on a closure of its own callers, None by default, is silent, and so is a scaler that may be of a class of one's
own, which may have been written for closures.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.model.protocol.hazard import HazardKind
from amplint.model.torch.names import GRAD_SCALER
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, protocol_edits

KIND = HazardKind.CLOSURE_WITH_SCALER
_NOTES = {
    "keyword": "the step raises `RuntimeError: Closure use is not currently supported if GradScaler is enabled.`, "
    "also for a closure of None",
    "positional": "the closure runs after the scaler has unscaled and checked gradients: those of the closure are neither",
    "missing": "the step of `LBFGS` raises `TypeError` without a closure, and a scaler supports none",
}


_GIVEN = r"caler\w*\.step\(.*closure"
"""A function that steps through a scaler it is given may stand in a file that says nothing else of mixed precision."""


@rule("AMP117", KIND, ERROR, HIGH, "0.1.0", triggers=(_GIVEN,))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        if _may_take_closures(file, found):
            continue
        how = _how(found)
        optimizer = protocol_edits.fit_for_message(found.hazard.optimizer_name, "optimizer")
        scaler = found.scaler_name
        message = (
            f"`{optimizer}` needs a closure, which `{scaler}` does not support"
            if how == "missing"
            else f"`{optimizer}` steps with a closure, which `{scaler}` does not support"
        )
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            message,
            note=_NOTES[how],
            related=hazard_calls.related(file, found),
            defect=hazard_calls.defect(found),
            fix=NoFix("the training step has to be written without a closure, or without a scaler"),
        )


def _how(found: Found) -> str:
    if found.hazard.details == ("missing",):
        return "missing"
    step = found.origin or found.node
    assert isinstance(step, cst.Call)
    named = any(arg.keyword is not None and arg.keyword.value == "closure" for arg in step.args)
    return "keyword" if named else "positional"


def _may_take_closures(file: File, found: Found) -> bool:
    """Whether the scaler may be of another class than PyTorch's, which somebody may have written for closures."""
    scaler = hazard_calls.receiver(found.origin or found.node)
    if scaler is None:
        return False
    values = list(file.flow.sources(scaler))
    sides = [
        side for value in values for side in ((value.body, value.orelse) if isinstance(value, cst.IfExp) else (value,))
    ]
    makers = [side.func for side in sides if isinstance(side, cst.Call)]
    return any(_names_class(maker) and not file.names.any_in(maker, GRAD_SCALER) for maker in makers)


def _names_class(maker: cst.BaseExpression) -> bool:
    name = maker.attr if isinstance(maker, cst.Attribute) else maker
    return isinstance(name, cst.Name) and name.value[:1].isupper()
