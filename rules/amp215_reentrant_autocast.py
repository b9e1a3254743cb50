"""A function decorated with autocast runs inside itself.

## What it does
Flags an autocast decorator on a function that may be called again before it has returned: it calls itself, calls
something that calls it, or is the `forward` of a module that holds modules of its own class.

## Why it matters
The decorator makes one autocast instance for all calls, and the instance keeps on itself what was before it was
entered. Entered a second time, it overwrites that. After your outer call, autocast stays switched on for everything
that this thread computes from then on: losses, optimizer steps, evaluation. Nothing is raised.

## Example
```python
import torch

@torch.autocast("cuda", dtype=torch.bfloat16)
def encode(tree, model):
    return model(tree.x) + sum(encode(child, model) for child in tree.children)
```

## Use instead
```python
import torch

def encode(tree, model):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return model(tree.x) + sum(encode(child, model) for child in tree.children)
```

## Fix safety
The fix is only shown: it takes the decorator away and puts the body under a `with` statement, which makes an instance
for each call.

## Limitations
Modules of the same class that are handed to the constructor, and recursion through code that is not at hand, are not
seen.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Edit, Fix, NoFix
from amplint.facts.recursive_calls import Recursion
from amplint.model.observables import LEFT_ON, Observable
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.within_function import enter_within


@rule("AMP215", "reentrant-autocast", ERROR, HIGH, "0.1.0", fix=DISPLAY, observable=Observable(LEFT_ON))
def check(file: File) -> Iterator[Finding]:
    for decorator in file.tree.find(cst.Decorator):
        function, region = file.tree.parent(decorator), file.contexts.of(decorator.decorator)
        if region is None or region.device == "grad" or not isinstance(function, cst.FunctionDef):
            continue
        again = file.fact(Recursion).into(function)
        if again is not None:
            yield Finding(
                file.range(decorator.decorator),
                f"`{function.name.value}` calls itself inside the one autocast instance that decorates it",
                "the inner call overwrites what the instance had saved: autocast stays switched on after the outer call",
                related=file.related("entered again from here", again),
                fix=_fix(file, function, decorator) or NoFix("the function cannot be rewritten in place"),
            )


def _fix(file: File, function: cst.FunctionDef, decorator: cst.Decorator) -> Fix | None:
    start, end = file.tree.span(decorator)
    first, last = file.source.position(start).row, file.source.position(end).row
    behind = file.source.text[end : file.source.line_starts[last - 1] + len(file.source.line(last))].strip()
    wrapped = enter_within(file, function, file.tree.text(decorator.decorator), behind)
    if wrapped is None:
        return None
    dropped = Edit(file.source.line_starts[first - 1], file.source.line_starts[last], "")
    return Fix("Enter a region of its own in each call", (dropped, wrapped), DISPLAY)
