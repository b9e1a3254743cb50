"""A `DataParallel` model runs in a bfloat16 region that its replicas do not know of.

## What it does
Flags an autocast region with `dtype=torch.bfloat16` in which a model in `torch.nn.DataParallel` is called.

## Why it matters
`DataParallel` runs its replicas in threads of their own, and tells them that autocast is on, but not in which
precision. On CUDA they run in the default, float16. So the model that you train for bfloat16 has the range of float16:
it may overflow, and its small gradients vanish without a scaler. Nothing is raised, and on one GPU there are no
replicas and nothing to see.

Entering the region inside the model's `forward`, where each replica comes by, is right as well.

## Example
```python
import torch

model = torch.nn.DataParallel(model)
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
loss.backward()
optimizer.step()
```

## Use instead
```python
import torch

model = torch.nn.parallel.DistributedDataParallel(model)
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
loss.backward()
optimizer.step()
```

## Fix safety
The fix, which enters the region inside `forward`, is only shown, and only if the class of the model is in the file.
`DistributedDataParallel` is what PyTorch recommends instead.

## Limitations
That another file wraps a model is not known.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#dataparallel-in-a-single-process
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Fix, NoFix
from amplint.facts.forward_passes import ForwardPass, Forwards
from amplint.model.observables import IN_REPLICA, Observable
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.within_function import enter_within


@rule("AMP214", "data-parallel-bf16-region", WARNING, HIGH, "0.1.0", fix=DISPLAY, observable=Observable(IN_REPLICA))
def check(file: File) -> Iterator[Finding]:
    if "DataParallel" not in file.source.text:
        return
    seen: set[cst.CSTNode] = set()
    for each in file.fact(Forwards).passes:
        if each.entry is None or each.entry[0].dtype != "bfloat16" or each.entry[0].device == "cpu":
            continue
        if not file.fact(Forwards).is_data_parallel(each):
            continue
        if each.entry[1] in seen or file.fact(Forwards).own_region(each):
            continue
        seen.add(each.entry[1])
        yield Finding(
            file.range(each.entry[1]),
            f"The replicas of `{each.model}` do not run in bfloat16",
            "`DataParallel` tells its threads that autocast is on, but not the dtype: on CUDA they run in float16",
            related=file.related("the replicas run here", each.call.func),
            fix=_fix(file, each) or NoFix("the `forward` of the wrapped module is not in sight"),
        )


def _fix(file: File, each: ForwardPass) -> Fix | None:
    """The region inside of the wrapped module's `forward`."""
    assert each.entry is not None
    wrapped = [arg.value for call in file.fact(Forwards).makers(each) for arg in call.args[:1]]
    classes = [file.classes.instance_of(value) for value in (*wrapped, *file.fact(Forwards).makers(each))]
    forward = next((info.method("forward") for info in classes if info is not None), None)
    if forward is None or not isinstance(each.entry[1], cst.Call):
        return None
    edit = enter_within(file, forward, file.tree.text(each.entry[1]))
    return Fix("Enter the region in `forward`", (edit,), DISPLAY) if edit is not None else None
