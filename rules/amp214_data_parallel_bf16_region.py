"""A `DataParallel` model runs in a bfloat16 region that its replicas do not know of.

## What it does
Flags an autocast region with `dtype=torch.bfloat16` in which a model in `torch.nn.DataParallel` is called.

## Why it matters
`DataParallel` runs its replicas in threads of their own. It tells them that autocast is on, not in which precision: on CUDA they
run in float16, the default. So a model trained for bfloat16 gets the range of float16, and with it overflows and
underflowing gradients, without a scaler. Nothing is raised; with one GPU there are no replicas, and nothing shows.

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
The fix is shown, never applied, and only where the class of the model is in the file: it enters the region inside of `forward`,
where each replica comes by.

## Limitations
A model that another file wraps is not known to be wrapped.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#dataparallel-in-a-single-process
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Applicability, Fix, Related
from amplint.rule import File, Finding, Pass, rule

from ._within import enter_within


@rule("AMP214", "data-parallel-bf16-region", fix=Applicability.DISPLAY)
def check(file: File) -> Iterator[Finding]:
    if "DataParallel" not in file.source.text:
        return
    seen: set[cst.CSTNode] = set()
    for each in file.forwards.passes:
        if each.entry is None or each.entry[0].dtype != "bfloat16" or not file.forwards.is_data_parallel(each):
            continue
        if each.entry[1] in seen or file.forwards.autocasts_itself(each):
            continue
        seen.add(each.entry[1])
        yield Finding(
            file.range(each.entry[1]),
            f"The replicas of `{each.model}` run in the default precision, not in bfloat16",
            "`DataParallel` tells its threads that autocast is on, not its dtype: on CUDA they run in float16",
            related=(Related("the replicas run here", file.range(each.call.func)),),
            fix=_fix(file, each),
        )


def _fix(file: File, each: Pass) -> Fix | None:
    """The region inside of the wrapped module's `forward`."""
    assert each.entry is not None
    wrapped = [arg.value for call in file.forwards.wrappers(each) for arg in call.args[:1]]
    classes = [file.classes.instance_of(value) for value in (*wrapped, *file.forwards.wrappers(each))]
    forward = next((info.method("forward") for info in classes if info is not None), None)
    if forward is None or not isinstance(each.entry[1], cst.Call):
        return None
    edit = enter_within(file, forward, file.tree.text(each.entry[1]))
    return Fix("Enter the region in `forward`", (edit,), Applicability.DISPLAY) if edit is not None else None
