"""A `GradScaler` that is made in the parent is handed over to the processes that it starts.

## What it does
Flags a scaler among the arguments of `torch.multiprocessing.spawn` and of `Process` (of `multiprocessing`, of
`torch.multiprocessing`, or of a context).

## Why it matters
Nothing is shared. The scaler is pickled on its way, so each process gets a copy, and none of the copies knows of the
others: after an overflow on rank 0 its scale was 32768, that of rank 1 and of the parent still 65536. Handed over
between `unscale_` or `step` and `update`, it raises an `AssertionError`.

Under `DistributedDataParallel` the training itself comes to no harm, because gradients carry inf and NaN to all ranks.
What goes wrong is the parent's scaler: it stays at its first scale for ever, and so does any state that you save of it.
If you do neither, you can leave it. Threads share their objects, and are not flagged.

## Example
```python
import torch
import torch.multiprocessing as mp

scaler = torch.amp.GradScaler("cuda")
mp.spawn(worker, args=(world_size, scaler), nprocs=world_size)
```

## Use instead
```python
import torch
import torch.multiprocessing as mp

def worker(rank, world_size):
    scaler = torch.amp.GradScaler("cuda")
    train(rank, world_size, scaler)

mp.spawn(worker, args=(world_size,), nprocs=world_size)
```

## Fix safety
The fix, which makes the scaler in the worker, is only shown: its settings may depend on what only the parent knows.

## Limitations
A scaler inside another object that is handed over is not seen.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#distributeddataparallel-one-gpu-per-process
- https://docs.pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Edit, Fix, NoFix
from amplint.facts.spawned_processes import HandOver, Processes
from amplint.model.observables import KEPT, Observable
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.call_edits import without_item

_NOTE = (
    "each process works on its own copy: the parent's scaler never changes, and neither does any state saved from it"
)


@rule("AMP115", "scaler-shared-across-ranks", WARNING, HIGH, "0.1.0", fix=DISPLAY, observable=Observable(KEPT))
def check(file: File) -> Iterator[Finding]:
    for each in file.fact(Processes).handed_over:
        yield Finding(
            file.range(each.given),
            "A `GradScaler` of the parent process is handed to another process",
            note=_NOTE,
            related=file.related("made here", each.made if each.made is not each.given else None),
            fix=make_in_worker(file, each) or NoFix("the function that the process runs is not at hand"),
        )


def make_in_worker(file: File, each: HandOver) -> Fix | None:
    """The construction at the start of the worker, in the place of a parameter; None where the worker is not at hand."""
    if each.worker is None or each.parameter is None or each.parameter.default is not None:
        return None
    body = each.worker.body.body[0] if isinstance(each.worker.body, cst.IndentedBlock) else None
    holder = file.tree.parent(each.entry)
    if not isinstance(body, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return None
    if not isinstance(holder, (cst.Tuple, cst.List, cst.Dict)):
        return None
    name = each.parameter.name.value
    edits = [
        _without(file, each.entry, holder),
        without_item(file, each.parameter, each.worker.params.params),
        file.editor.insert_before(body, f"{name} = {file.tree.text(each.made)}"),
    ]
    edits.sort(key=lambda edit: edit.start)
    return Fix(f"Make `{name}` in `{each.worker.name.value}`", tuple(edits), DISPLAY)


def _without(file: File, item: cst.CSTNode, holder: cst.Tuple | cst.List | cst.Dict) -> Edit:
    """A collection without one of its elements; what is left of a tuple stays one."""
    items = holder.elements
    if len(items) > 2:
        return without_item(file, item, items)
    end = file.tree.span(items[-1])[1]
    if isinstance(file.tree.as_written(items[-1]).comma, cst.Comma):
        end = file.source.text.index(",", end) + 1
    left = "".join(f"{file.tree.text(each)}," for each in items if each is not item)
    return Edit(file.tree.span(items[0])[0], end, left if isinstance(holder, cst.Tuple) else left.rstrip(","))
