"""One autocast region goes on after an optimizer step, with weights cast before it.

## What it does
Flags a region in which an optimizer steps and the model is used again afterwards: a `with` statement around the
training loop, a decorated function that loops over batches, a region in which a discriminator is stepped and then
judges once more. The outermost region counts, even if it is itself disabled: regions inside it do not clear its cache.

## Why it matters
Autocast casts each float32 weight once and keeps the copy until the outermost region ends. The step changes the weight,
not the copy, so every later forward pass in the region computes with old weights. Nothing is raised. In a run of 40
steps in one region the loop printed a loss of 9.459 every time, while the loss with the real weights went up to 160.7;
with a region for each iteration it fell to 0.016.

`cache_enabled=False` and `torch.clear_autocast_cache()` after the step are right, too, and not reported.

## Example
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.autocast("cuda", dtype=torch.bfloat16):
    for data, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
```

## Use instead
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(data), target)
    loss.backward()
    optimizer.step()
```

## Fix safety
The fix takes the region from around the loop and puts it around the forward pass in it. It is safe, and offered where
nothing else in the region computes in a precision that autocast chooses. For a decorated function, where forward pass
and step are in different functions, and where another context of the `with` statement would move along,
`cache_enabled=False` is shown instead: it cures the stale weights, and casts them anew for each use.

## Limitations
Without a loop, a model is known by the optimizer that got its parameters in the same function or class. What
is called a test or a measurement trains nothing. Of weights that are half anyway (`model.to(torch.bfloat16)`) a region
keeps no copies, so that no step makes one stale.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, SAFE, Fix, NoFix, Related
from amplint.facts.trial_code import Trials
from amplint.model.events import Backward
from amplint.model.observables import LOSS_ERROR, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.model.torch import names as torch_names
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls
from ._support.call_edits import has_star, insert_arguments, keyword, positionals
from ._support.narrow_regions import narrow
from ._support.region_ends import entered
from ._support.spanning_regions import spanning

KIND = HazardKind.REGION_SPANS_STEPS


@rule("AMP212", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(LOSS_ERROR, tolerance=0.005))
def check(file: File) -> Iterator[Finding]:
    for found in spanning(file):
        if file.fact(Trials).is_in_one(found.node):
            continue
        yield Finding(
            file.range(entered(file, found.node)),
            "One autocast region spans an optimizer step and later forward passes",
            "a region casts each weight once and keeps the copy until it ends: after a step, forward passes use old weights",
            related=_related(file, found),
            fix=(_fix(file, found) if found.here else None)
            or NoFix("the arguments of the region are not all in sight"),
        )


def _related(file: File, found: Found) -> tuple[Related, ...]:
    step = hazard_calls.related(file, found, step="the weights change here")
    if isinstance(found.related.get("use"), cst.Call) and not found.at_home(Backward):
        return (*step, *hazard_calls.related(file, found, use="computes with the old weights"))
    return step


def _fix(file: File, found: Found) -> Fix | None:
    block = file.tree.parent(found.node)
    if isinstance(block, cst.With) and len(block.items) == 1 and block.items[0].asname is None:
        passes = [node for _, node in found.events(Backward) if block in file.tree.ancestors(node)]
        edits = narrow(file, block, passes[0]) if len(set(passes)) == 1 else None
        if edits is not None:
            return Fix("Enter the region for each forward pass, not around the loop", edits)
    return _uncached(file, entered(file, found.node))


def _uncached(file: File, region: cst.CSTNode) -> Fix | None:
    """The region without a cache, which is right wherever it ends; None where its arguments are not all in sight."""
    made = region.item if isinstance(region, cst.WithItem) else region
    if not isinstance(made, cst.Call) or not file.names.all_in(made.func, torch_names.AUTOCAST) or has_star(made):
        return None
    if keyword(made, "cache_enabled") is not None or len(positionals(made)) > 2:
        return None
    edits = insert_arguments(file, made, ["cache_enabled=False"], (), len(made.args))
    return Fix("Cast the weights anew for each use: `cache_enabled=False`", tuple(edits), DISPLAY)
