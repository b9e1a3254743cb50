"""A `GradScaler` is made anew again and again, and forgets its scale each time.

## What it does
Flags a scaler that is made inside a loop, or inside a function that runs for each step or epoch, while the optimizer
that it steps lives on.

## Why it matters
A scaler learns its scale: it halves it after an overflow, and doubles it after 2000 steps without one. A new one starts
at 65536 again. If that is too much for your model, a scaler per iteration skips every single step, for ever, and
PyTorch raises nothing. A scaler per epoch skips the first steps of every epoch. In a run of 40 iterations that
overflowed at first, 40 were skipped with a scaler for each iteration, 12 with one for each epoch, 4 with one for the
whole run.

Where you make the optimizer anew as well, as for each fold or each trial of a sweep, a new scaler is right, and not
flagged.

## Example
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(epochs):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for epoch in range(epochs):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
The fix moves the construction in front of the outermost loop in which the optimizer stays the same. It is unsafe where
that loop runs over stages or runs, for which you may want a fresh scale. You get no fix where the scaler is made under
a condition, where its arguments change within the loop, and where a function makes it that runs again and again: it
would need a parameter.

## Limitations
A function that its own file does not call counts as one that runs again and again only if its name says so
(`train_step`, `train_one_epoch`), if it is a single iteration (it scales a loss and steps a given optimizer, without a
loop), or if a file that imports it calls it in a loop, with the same optimizer each time, or on the same object. A
scaler whose state is loaded right away is not flagged, and neither is one that is made under a condition, unless this asks
whether AMP is on, for a GPU, or for an option such as `args.fast` that nothing in the file sets.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix, NoFix, Related
from amplint.facts.rebuilt_scalers import Rebuilt, RebuiltScalers
from amplint.facts.scalers import Scalers
from amplint.model.observables import SKIPPED, Observable
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support import hazard_calls

_SEPARATE_RUNS = re.compile(r"stage|phase|fold|trial|sweep|seed|run|split|task|round", re.IGNORECASE)
_NOTE = "the optimizer continues, but the scale starts over: where the initial scale is too large, steps are skipped each time"


@rule("AMP113", "scaler-in-loop", WARNING, MEDIUM, "0.1.0", fix=SAFE, observable=Observable(SKIPPED))
def check(file: File) -> Iterator[Finding]:
    for rebuilt in file.fact(RebuiltScalers).shown_by_any:
        yield Finding(
            file.range(rebuilt.call.func),
            f"A new `GradScaler` {_when(file, rebuilt)} loses the scale found before",
            note=_NOTE,
            related=_related(file, rebuilt),
            fix=(hoist(file, rebuilt) if rebuilt.loop is not None else None)
            or NoFix("where the scaler should be made once is not clear here"),
            defect=file.fact(Scalers).first_choice(rebuilt.call),
            needs=frozenset({rebuilt.needs} if rebuilt.needs else ()),
        )


def _when(file: File, rebuilt: Rebuilt) -> str:
    if rebuilt.loop is not None:
        return "in each iteration"
    home = file.tree.enclosing(rebuilt.call, cst.FunctionDef)
    assert isinstance(home, cst.FunctionDef)
    return f"in each call of `{home.name.value}`"


def _related(file: File, rebuilt: Rebuilt) -> tuple[Related, ...]:
    if rebuilt.loop is not None:
        header = rebuilt.loop.iter if isinstance(rebuilt.loop, cst.For) else rebuilt.loop.test
        return file.related("this loop makes the scaler anew", header)
    return file.related("called again and again here", rebuilt.again.func if rebuilt.again is not None else None)


def hoist(file: File, rebuilt: Rebuilt) -> Fix | None:
    """The construction in front of the loop; None where it is conditional, or depends on what the loop changes."""
    loop, line = rebuilt.loop, file.editor.statement(rebuilt.call)
    assign = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if loop is None or line is None or not isinstance(assign, cst.Assign) or assign.value is not rebuilt.call:
        return None
    guards = hazard_calls.guards(file, line, file.tree.parent(loop) or file.tree.module)
    if not all(isinstance(guard, (cst.For, cst.While)) for guard in guards):
        return None
    if len(assign.targets) != 1 or not _is_alone(file, assign.targets[0].target) or rebuilt.varies:
        return None
    if len(file.editor.siblings(line)) == 1 or isinstance(file.tree.parent(loop), cst.SimpleStatementSuite):
        return None
    first, last = file.editor.first_row(line, over_blanks=False), file.editor.rows(line)[1]
    lines = file.editor.shifted(first, last, file.editor.indent(line), file.editor.indent(loop))
    moved = (file.editor.insert_before(loop, *(text.removeprefix(file.editor.indent(loop)) for text in lines)),
             file.editor.delete_rows(first, last))  # fmt: skip
    header = file.tree.text(loop.target) + file.tree.text(loop.iter) if isinstance(loop, cst.For) else ""
    trust = UNSAFE if _SEPARATE_RUNS.search(header) else SAFE
    return Fix("Move the construction before the loop", moved, trust)


def _is_alone(file: File, target: cst.BaseExpression) -> bool:
    """Whether nothing else is ever assigned to a target."""
    return len(list(file.roles.values(target))) == 1
