"""An autocast region is given a dtype that is not half precision.

## What it does
Flags a region whose dtype is neither float16 nor bfloat16 if mixed precision begins there: around the forward pass of a
training step or of inference, not inside another region.

## Why it matters
Autocast is there to run matrix products and convolutions in half precision. With float32 on CUDA the region is active,
warns of nothing, and runs them in float32, as they would without it. On the CPU, XPU and MPS, PyTorch warns and
disables it. Your code reads as if it trained in mixed precision, and gains neither speed nor memory.

If you want to switch autocast off, `enabled=False` says so.

## Example
```python
import torch

for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float32):
        loss = criterion(model(data), target)
    loss.backward()
```

## Use instead
```python
import torch

for data, target in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    loss.backward()
```

## Fix safety
There is no fix: only you know which precision you meant, or whether any.

## Limitations
A region in a helper or in the `forward` of a module may be a float32 island in another region, which is a right use of
float32, and is not flagged; nor is one around inference in a function that handles a single batch.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.model.events import Region
from amplint.rule import HIGH, INFO, File, Finding, rule

_WIDE = ("float32", "float64")
"""What an island in another region may be meant to run in."""
_REFUSING = ("cpu", "xpu", "mps")
"""The device types on which autocast disables itself for other dtypes; on CUDA it does as it is told."""


@rule("AMP210", "ineffective-autocast-dtype", INFO, HIGH, "0.1.0")
def check(file: File) -> Iterator[Finding]:
    seen: set[cst.Call] = set()
    for item in file.tree.find(cst.WithItem):
        for source in file.contexts.sources(item.item):
            region = file.contexts.settings(source)
            if source not in seen and not _is_fine(region) and _begins_mixed_precision(file, item, region):
                seen.add(source)
                yield Finding(
                    file.range(source.func),
                    f"Autocast to `torch.{region.dtype}` is not mixed precision",
                    _what_happens(region),
                    fix=NoFix("only you can say which dtype is meant"),
                )


def _is_fine(region: Region) -> bool:
    return region.lowers or region.enabled == "no"


def _what_happens(region: Region) -> str:
    if region.device == "cuda" and region.dtype in _WIDE:
        return f"the region is active without a warning, and its operations run in {region.dtype}"
    if region.device in _REFUSING:
        return f"PyTorch warns and disables the region: on {region.device} only bfloat16 and float16 are supported"
    return "only float16 and bfloat16 make operations faster"


def _begins_mixed_precision(file: File, item: cst.WithItem, asked: Region) -> bool:
    """Whether a region is surely no island in another one: it stands in no other, in code that trains or infers."""
    around = file.contexts.stack(item)
    beside = [file.contexts.of(each.item) for each in _items(file, item)]
    if any(region.device != "grad" for region in around):
        return False
    if any(region is not None and region.device == "grad" for region in (*around, *beside)):
        return asked.dtype not in _WIDE or not (_may_be_called_in_a_region(file, item) or _is_beside_half(file, item))
    home = file.tree.enclosing(item, cst.FunctionDef) or file.tree.module
    return any(
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "backward"
        and home in file.tree.ancestors(call)
        for call in file.tree.find(cst.Call)
    )


def _is_beside_half(file: File, item: cst.WithItem) -> bool:
    """Whether the function enters a region of half precision as well, whose results a wider one may take over."""
    home = file.tree.enclosing(item, cst.FunctionDef) or file.tree.module
    entered = (file.contexts.of(each.item) for each in file.tree.inside(home, cst.WithItem) if each is not item)
    return any(region is not None and region.lowers for region in entered)


def _may_be_called_in_a_region(file: File, item: cst.WithItem) -> bool:
    """Whether inference is for one batch that somebody hands in, perhaps from a region of a model that uses the result."""
    return isinstance(file.tree.enclosing(item, cst.For, cst.While, cst.FunctionDef), cst.FunctionDef)


def _items(file: File, item: cst.WithItem) -> tuple[cst.WithItem, ...]:
    block = file.tree.parent(item)
    return tuple(block.items) if isinstance(block, cst.With) else ()
