"""Say in one line what is wrong.

## What it does
Flags calls of `torch.some_bad_pattern`. Say here which code is flagged, and which look-alikes are not.

## Why it matters
Say what happens to the training run, with the numbers that hold.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    torch.some_bad_pattern(model)
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    model.train()
```

## Fix safety
There is no fix.

## Limitations
Say what the rule does not see.

## References
- https://docs.pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

_CULPRITS = frozenset({"torch.some_bad_pattern"})


@rule("AMP000", "some-bad-pattern", WARNING, MEDIUM, "0.0.0", default=False)
def check(file: File) -> Iterator[Finding]:
    for call in file.tree.find(cst.Call):
        if file.names.all_in(call.func, _CULPRITS):
            yield Finding(
                file.range(call.func), "Say what is wrong here, as one fact", "say why", fix=NoFix("say why not")
            )
