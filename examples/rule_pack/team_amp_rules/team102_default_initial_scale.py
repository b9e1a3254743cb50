"""A scaler begins at the default scale.

## What it does
Flags every `GradScaler` that is made without `init_scale`, in this file or by a class of the project, unless it is disabled.

## Why it matters
A run whose model settles at a scale of 1024 skips six steps before it gets there from the default of 65536. The scale at
which a model settles is known after its first run, and we write it down.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda", init_scale=4096.0)
```

## Fix safety
There is no fix: only a run can tell the scale.

## Limitations
Scalers that are made from `**options` are not looked at.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.facts.scalers import Scalers
from amplint.rule import HIGH, INFO, File, Finding, rule


@rule("TEAM102", "default-initial-scale", INFO, HIGH, "1.0.0", default=False, triggers=(r"^GradScaler$",))
def check(file: File) -> Iterator[Finding]:
    for call, facts in file.fact(Scalers).made:
        if facts.enabled == "no" or _names_scale(call):
            continue
        yield Finding(
            file.range(call.func),
            "This scaler begins at the default scale of 65536",
            note="write down the scale at which earlier runs have settled",
            fix=NoFix("only a run can tell the scale"),
        )


def _names_scale(call: cst.Call) -> bool:
    keywords = [arg.keyword.value for arg in call.args if arg.keyword is not None]
    return "init_scale" in keywords or len(call.args) - len(keywords) > 1 or any(arg.star for arg in call.args)
