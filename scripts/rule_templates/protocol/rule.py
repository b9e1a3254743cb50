"""Say in one line what is wrong.

## What it does
Flags `scaler.step` inside an autocast region. Say here which code is flagged, and which look-alikes are not.

## Why it matters
Say what happens to the training run, with the numbers that hold.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
with torch.autocast("cuda", dtype=torch.float16):
    scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
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

from amplint.diagnostics import NoFix
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support import hazard_calls

KIND = HazardKind.SOME_BAD_PATTERN


@rule("AMP000", KIND, WARNING, MEDIUM, "0.0.0", default=False)
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND):
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"Say what `{found.scaler_name}` does wrong here, as one fact",
            note="say why",
            related=hazard_calls.related(file, found, region="the region begins here"),
            fix=NoFix("say why not"),
        )
