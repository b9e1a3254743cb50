"""Whether the scaler has skipped a step is asked with `==` or `!=` on its scale.

## What it does
Flags `==` and `!=` between the scale from before `scaler.step` and the one after `scaler.update` if code runs, or is
left out, for the answer, or the answer is kept as "skipped" or "stepped".

## Why it matters
The scale falls when a step was skipped. But it also rises, after 2000 steps in a row that were taken, and then your
test takes a good step for a skipped one: the schedule, the moving average or the step counter misses a beat each time
the scale grows. If you resume by the number of steps taken, you resume at the wrong place.

A comparison that only leads to a message ("the loss scale has changed") is fine, and silent.

## Example
```python
import torch

scale_before = scaler.get_scale()
scaler.step(optimizer)
scaler.update()
if scaler.get_scale() == scale_before:
    scheduler.step()
```

## Use instead
```python
import torch

scale_before = scaler.get_scale()
scaler.step(optimizer)
scaler.update()
if scaler.get_scale() >= scale_before:
    scheduler.step()
```

## Fix safety
The fix asks whether the scale fell: `==` becomes `>=`, and `!=` becomes `<`, or the other way round where the earlier
scale stands first. It is safe: the answer changes only for steps that were taken while the scale grew.

## Limitations
A scale that has sunk to zero cannot fall any more; no comparison of scales notices the steps skipped from there on.

## References
- https://github.com/pytorch/pytorch/issues/67590
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.update
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.facts.skip_tests import SkipTest, SkipTests
from amplint.model.observables import MISTAKEN, Observable
from amplint.rule import HIGH, WARNING, File, Finding, rule


@rule(
    "AMP122",
    "skip-test-by-equality",
    WARNING,
    HIGH,
    "0.1.0",
    fix=SAFE,
    triggers=(r"^get_scale$",),
    observable=Observable(MISTAKEN),
)
def check(file: File) -> Iterator[Finding]:
    for test in file.fact(SkipTests).found:
        if not isinstance(test.operator, (cst.Equal, cst.NotEqual)):
            continue
        is_equal = isinstance(test.operator, cst.Equal)
        yield Finding(
            file.range(test.comparison),
            f"`{'==' if is_equal else '!='}` mistakes a growing scale for a skipped step",
            note="the scale falls when a step was skipped, and grows after 2000 taken steps in a row, unless set otherwise",
            fix=compare(file, test) or NoFix("the comparison is not written plainly"),
        )


def compare(file: File, test: SkipTest) -> Fix | None:
    """The same question, asked by whether the scale fell."""
    old, stepped = test.operator, "<=" if test.before_first else ">="
    skipped = ">" if test.before_first else "<"
    new = stepped if isinstance(old, cst.Equal) else skipped
    written = "==" if isinstance(old, cst.Equal) else "!="
    start = file.tree.span(test.comparison.left)[1]
    gap = file.source.text[start : file.tree.span(test.comparison.comparisons[0].comparator)[0]]
    if gap.count(written) != 1:
        return None
    place = start + gap.index(written)
    return Fix(f"Compare with `{new}`", (Edit(place, place + len(written), new),))
