"""Say in one line what is wrong.

## What it does
Flags `torch.sin` of a float16 tensor. Say here which code is flagged, and which look-alikes are not.

## Why it matters
Say what happens to the training run, with the numbers that hold.

## Example
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def encode(x, weight):
    h = nn.functional.linear(x, weight)
    return torch.sin(h)
```

## Use instead
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def encode(x, weight):
    h = nn.functional.linear(x, weight)
    return torch.sin(h.float())
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
from amplint.dtypes import Dtypes, Operation
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

_CULPRITS = frozenset({"sin"})


@rule("AMP000", "some-bad-pattern", WARNING, MEDIUM, "0.0.0", default=False, entered="")
def check(file: File) -> Iterator[Finding]:
    for operation in file.fact(Dtypes).lowered_where(_is_lossy):
        related, place = file.fact(Dtypes).origin(operation, operation.operand), file.range(operation.node)
        yield Finding(place, "Say what is wrong here, as one fact", "say why", related, NoFix("say why not"))


def _is_lossy(operation: Operation) -> bool:
    """Whether the operation loses what matters; silent where the file does not show that its operand is float16."""
    return operation.op in _CULPRITS and operation.operand.half and operation.operand.sure
