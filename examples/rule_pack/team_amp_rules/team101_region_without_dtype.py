"""An autocast region leaves its dtype to the default.

## What it does
Flags `torch.autocast(...)` and `torch.amp.autocast(...)` for CUDA without a `dtype`.

## Why it matters
Our models train in bfloat16 on some machines and in float16 on others. A region that names no dtype takes that of the
region around it, or of `torch.set_autocast_dtype`, or else float16, and the reader of a loop cannot tell which.

## Example
```python
import torch

with torch.autocast("cuda"):
    loss = model(images).mean()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(images).mean()
```

## Fix safety
Unsafe: float16 is written out, which is the default of CUDA, but need not be what was meant.

## Limitations
Regions whose device is not written as a string, and `functools.partial`, are not looked at.

## References
- https://docs.pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.rule import HIGH, INFO, File, Finding, rule

_AUTOCAST = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})


@rule("TEAM101", "region-without-dtype", INFO, HIGH, "1.0.0", fix=UNSAFE, triggers=(r"^autocast$",))
def check(file: File) -> Iterator[Finding]:
    for call in file.tree.find(cst.Call):
        if not file.names.all_in(call.func, _AUTOCAST) or not _is_for_cuda(call) or _names_dtype(call):
            continue
        yield Finding(
            file.range(call.func),
            "This autocast region names no dtype",
            note="it takes the dtype of the region around it, or the default of the device",
            fix=_with_dtype(file, call),
        )


def _is_for_cuda(call: cst.Call) -> bool:
    device = call.args[0].value if call.args else None
    return isinstance(device, cst.SimpleString) and device.evaluated_value == "cuda"


def _names_dtype(call: cst.Call) -> bool:
    """Whether a dtype is given: by name, as the second argument, or perhaps among `**options`."""
    return len(call.args) > 1 and any(arg.keyword is None or arg.keyword.value == "dtype" for arg in call.args[1:])


def _with_dtype(file: File, call: cst.Call) -> Fix | NoFix:
    """The fix; none where `torch` itself is not imported."""
    if not file.is_bound("torch", call):
        return NoFix("`torch` is not bound here")
    end = file.range(call.args[0]).end.offset
    return Fix("Write the default dtype out", (Edit(end, end, ", dtype=torch.float16"),), UNSAFE)
