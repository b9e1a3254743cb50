"""Weights are cast to half precision on their way into a checkpoint from which training is resumed.

## What it does
Flags a cast to float16 or bfloat16 of weights that are saved next to the state of an optimizer: such a checkpoint is
there to resume from.

## Why it matters
Autocast keeps your weights in float32 because the steps of an optimizer are small against them. Saved in float16 they
are rounded: in one net 99.98 % of the weights changed, by 2.1e-4 of their size. Updates of 1e-4 of a weight are
mostly lost, 85 % of them; values at or below 2**-25 become zero, and those beyond 65504 inf. Nothing is raised on
saving or loading: the weights are cast back to float32, without what they have lost, and your run goes on from there.

Half weights saved alone, to be shared or deployed, are fine. So is a checkpoint that holds the weights in full as well,
and a cast that an option decides about.

## Example
```python
import copy
import torch

with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
torch.save({"model": copy.deepcopy(model).half().state_dict(), "optimizer": optimizer.state_dict()}, path)
```

## Use instead
```python
import copy
import torch

with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
torch.save(copy.deepcopy(model).half().state_dict(), export_path)
```

## Fix safety
The fix, which drops the cast, is only shown: it doubles the size of the weights in the file, and readers may expect
half ones.

## Limitations
Checkpoints to resume from that hold no optimizer state are not told from exports. A cast inside a helper is not seen,
but for a copy of the model that an object makes half when it is made itself.

## References
- https://docs.pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Edit, Fix, NoFix
from amplint.facts.half_checkpoints import HalfCheckpoints, HalfSaved
from amplint.model.observables import ROUNDED, Observable
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support.protocol_edits import without

_NOTE = (
    "a resumed run continues from rounded weights: small updates are lost, and what is beyond the range of half precision "
    "becomes zero or inf"
)


_RESUMED_IN_HALF = r"\.half\(\)[\s\S]{0,2000}?optim\w*\.state_dict\(\)"
"""A helper that saves both in one function may hold no word of AMP otherwise."""


@rule(
    "AMP308",
    "half-checkpoint",
    WARNING,
    MEDIUM,
    "0.1.0",
    fix=DISPLAY,
    triggers=(r"^scale_loss$", _RESUMED_IN_HALF),
    observable=Observable(ROUNDED),
)
def check(file: File) -> Iterator[Finding]:
    for each in file.fact(HalfCheckpoints).found:
        yield Finding(
            file.range(each.place),
            "The checkpoint holds the weights in half precision, beside the state of the optimizer",
            note=_NOTE,
            related=(
                *file.related("saved together with this optimizer's state", each.state.optimizer),
                *(file.related("kept in half from here on", each.cast) if each.kept is not None else ()),
            ),
            fix=(uncast(file, each) if each.kept is None else None)
            or NoFix("the weights become half where that cannot be changed"),
        )


def uncast(file: File, each: HalfSaved) -> Fix | None:
    """The weights without the cast; None where the cast is a statement of its own, or does more."""
    if isinstance(file.tree.parent(each.cast), cst.Expr):
        line = file.editor.statement(each.cast)
        if not isinstance(line, cst.SimpleStatementLine) or len(file.editor.siblings(line)) == 1:
            return None
        edits = (without(file, line),)
    elif len(each.cast.args) > 1:
        return None
    else:
        assert isinstance(each.cast.func, cst.Attribute)
        edits = (Edit(file.tree.span(each.cast.func.value)[1], file.tree.span(each.cast)[1], ""),)
    return Fix("Save the weights in float32", edits, DISPLAY)
