"""The backward pass runs inside an autocast region.

## What it does
Flags a backward call (`loss.backward()`, `scaler.scale(loss).backward()`, `torch.autograd.backward`) inside an enabled
autocast region, entered by `with` or by a decorator, also when the call stands in a function that is called there.

## Why it matters
The backward pass needs no region: each operation uses the precision that autocast chose for it in the forward pass. For
ordinary networks it makes no difference at all; the gradients are the same, bit for bit. It makes one if part of your
model runs in float32 on purpose, in a region with `enabled=False`, or if a graph was built before the region began. The
backward matrix products of that part are then cast down: they lose precision, and in float16 they may overflow.
PyTorch's documentation advises against it.

So if your model has no such part, nothing is wrong today. Moving one line keeps it that way.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
    loss.backward()
optimizer.step()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(data), target)
loss.backward()
optimizer.step()
```

## Fix safety
The fix moves the backward call, and all that follows it in the block, out of the region. It is offered where nothing of
that computes in a precision that autocast chooses: no forward pass, no loss, no function that is not known to be
harmless. You get none for a decorated function, where forward and backward are one statement, and where another context
of the `with` statement (`no_sync()`, say) has to stay around the backward call. It is unsafe if the file defines an
`autograd.Function` whose `backward` lacks `custom_bwd`: such a function may fail once it runs outside the region.

## Limitations
A region around a whole loop of optimizer steps is worse, and is AMP212. Tests, timings and gradient checks that step no
optimizer train nothing, and are left alone. The fix does not see an `autograd.Function` of
another file.

## References
- https://docs.pytorch.org/docs/stable/amp.html#autocasting
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#functions-that-need-a-particular-dtype
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix, Related
from amplint.facts.trial_code import Trials
from amplint.model.events import OptimizerStep, ScalerStep
from amplint.model.observables import ISLAND_ERROR, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.model.torch.names import CUSTOM_BWD
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import hazard_calls
from ._support.outside_autocast import may_compute
from ._support.region_ends import cut_after, cut_before, dedent, entered, is_region
from ._support.spanning_regions import spanning

KIND = HazardKind.BACKWARD_IN_AUTOCAST

_NEUTRAL = frozenset({"contextlib.nullcontext", "torch.enable_grad", "torch.autograd.enable_grad"})
"""Contexts that make no difference to a backward call: the forward pass has ended, and gradients are recorded anyway."""


@rule("AMP201", KIND, WARNING, HIGH, "0.1.0", fix=SAFE, observable=Observable(ISLAND_ERROR), yields_to="AMP212")
def check(file: File) -> Iterator[Finding]:
    told = {found.node for found in spanning(file)}
    for found in file.analysis.of(KIND, elsewhere=True):
        region = found.related["region"]
        if found.related.get("outermost") in told or _trains_nothing(file, found) or _is_of_library(file, region):
            continue
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            "The backward pass runs inside an autocast region",
            note=_harm(file, region),
            related=_related(file, found),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(
                file, found, repair, "the region cannot be cut here without moving other computations"
            ),
        )


def _trains_nothing(file: File, found: Found) -> bool:
    """Whether a test or a measurement runs the backward pass, and steps nothing afterwards: the gradients go nowhere."""
    if found.events(OptimizerStep, ScalerStep):
        return False
    places = (found.node, found.function, found.origin)
    return any(file.fact(Trials).at(node) for node in places if node is not None)


def _is_of_library(file: File, region: cst.CSTNode) -> bool:
    """Whether a library puts a region around a whole method of the author's, so that no backward pass can leave it."""
    return isinstance(region, cst.FunctionDef) and not any(
        is_region(file, each.decorator) for each in region.decorators
    )


def _related(file: File, found: Found) -> tuple[Related, ...]:
    begins = file.related("the region begins here", entered(file, found.related["region"]))
    return (*begins, *hazard_calls.related(file, found))


def _harm(file: File, region: cst.CSTNode) -> str:
    """What a backward pass inside a region may come to; bfloat16 has the range of float32."""
    settings = file.contexts.of(region.item) if isinstance(region, cst.WithItem) else None
    harm = "lose precision" if settings is not None and settings.dtype == "bfloat16" else "lose precision or overflow"
    return f"a backward pass needs no region: in one, the parts that ran in float32 on purpose are cast to half and can {harm}"


def repair(file: File, found: Found) -> Fix | None:
    """The backward call and all that follows it, out of the region; None where that is not known to change nothing else."""
    blocks = _regions_around(file, found.node)
    if file.tree.parent(found.related["region"]) not in blocks:
        return None  # a decorated function, or the region of a caller
    inner, *outer = blocks
    if any(not _may_leave(file, block) for block in blocks):
        return None
    below: cst.CSTNode = inner
    cuts = [cut_before(file, inner, found.node)]
    for block in outer:
        if not isinstance(block.body, cst.IndentedBlock) or below not in block.body.body:
            return None  # the inner block is part of a statement that cannot be left
        cuts.append(cut_after(file, block, below))
        below = block
    stays = [node for each in cuts for node in each.stays if not isinstance(node, cst.With) or node not in blocks]
    leaves = [node for each in cuts for node in each.leaves]
    if not cuts[0].stays or not may_compute(file, stays) or may_compute(file, leaves):
        return None
    trust = UNSAFE if any(_lacks_custom_bwd(file)) else SAFE
    return Fix("Move the backward pass out of the autocast region", dedent(file, cuts), trust)


def _regions_around(file: File, node: cst.CSTNode) -> list[cst.With]:
    """The `with` statements of the same function that put an autocast region around `node`, innermost first."""
    found: list[cst.With] = []
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            break
        if (
            isinstance(above, cst.With)
            and below is above.body
            and any(is_region(file, each.item) for each in above.items)
        ):
            found.append(above)
        below = above
    return found


def _may_leave(file: File, block: cst.With) -> bool:
    """Whether no context of a `with` statement has to stay around the backward call."""
    return all(_is_neutral(file, item.item, 3) for item in block.items)


def _is_neutral(file: File, context: cst.BaseExpression, depth: int) -> bool:
    """Whether an expression can be nothing but an autocast region, or a context that makes no difference."""
    if isinstance(context, cst.IfExp):
        return _is_neutral(file, context.body, depth) and _is_neutral(file, context.orelse, depth)
    values = file.contexts.values(context)
    if values and depth:
        return all(_is_neutral(file, value, depth - 1) for value in values)
    if isinstance(context, cst.Call) and file.names.all_in(context.func, _NEUTRAL):
        return True
    return is_region(file, context)


def _lacks_custom_bwd(file: File) -> Iterator[bool]:
    """For each `autograd.Function` of the file: whether its backward relies on the region it is called in."""
    for node in file.tree.find(cst.ClassDef):
        if not any(file.names.all_in(base.value, {"torch.autograd.Function"}) for base in node.bases):
            continue
        for method in node.body.body:
            if isinstance(method, cst.FunctionDef) and method.name.value == "backward":
                called = (
                    each.decorator.func if isinstance(each.decorator, cst.Call) else each.decorator
                    for each in method.decorators
                )
                yield not any(file.names.any_in(each, CUSTOM_BWD) for each in called)
