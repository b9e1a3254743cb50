"""Gradients are clipped with `error_if_nonfinite=True`, although a `GradScaler` is about to skip steps that overflow.

## What it does
Flags a clip that raises for gradients that are not finite, if these come from a scaled loss.

## Why it matters
Under a scaler, inf and NaN are no accident. The scale is tried out: gradients overflow now and then, most of all in the
first steps, and the scaler skips these steps and comes down. Your clip ends the run instead:
`RuntimeError: The total norm of order 2.0 for gradients from parameters is non-finite`.

If you catch the error, or write `error_if_nonfinite=not scaler.is_enabled()`, all is well, and nothing is flagged.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
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
The fix drops the argument. It is unsafe: where the scaler is disabled, or where the loss itself is NaN, you may want
the error. `error_if_nonfinite=not scaler.is_enabled()` keeps it for runs without the scaler.

## Limitations
The clip of Lightning's Fabric raises by default (`fabric.clip_gradients(...)`); it is not flagged, since the precision
of a Fabric run is usually an option.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Fix, NoFix
from amplint.model.observables import RAISED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support import hazard_calls, protocol_edits
from ._support.call_edits import keyword, positionals, without_item

KIND = HazardKind.CLIP_RAISES_ON_OVERFLOW


@rule("AMP121", KIND, WARNING, HIGH, "0.1.0", fix=UNSAFE, observable=Observable(RAISED))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True):
        if isinstance(found.node, cst.Call):
            yield Finding(
                hazard_calls.callee_range(file, found.node),
                "The clip raises an error where the `GradScaler` would skip the step",
                note=f"overflows are normal{protocol_edits.while_enabled(found)}: "
                "the scaler skips the step and lowers the scale",
                related=hazard_calls.related(file, found, scaled="scaled here"),
                defect=hazard_calls.defect(found),
                fix=(lenient(file, found.node) if found.origin is None else None)
                or NoFix("the argument is not written in this call"),
            )


def lenient(file: File, clip: cst.Call) -> Fix | None:
    """The clip without the argument; None where it is not seen in the call itself, or a comment would go with it."""
    given = keyword(clip, "error_if_nonfinite")
    fourth = positionals(clip)[3:4]
    arg = given or (fourth[0] if fourth else None)
    if arg is None or any(each.star for each in clip.args):
        return None
    title = "Drop `error_if_nonfinite=True`"
    index = list(clip.args).index(arg)
    if given is None and index + 1 < len(clip.args) and clip.args[index + 1].keyword is None:
        return Fix(title, (file.editor.replace(arg.value, "False"),), UNSAFE)
    edit = without_item(file, arg, clip.args)
    lost = file.source.text[edit.start : edit.end]
    return Fix(title, (edit,), UNSAFE) if "#" not in lost else None
