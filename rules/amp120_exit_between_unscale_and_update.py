"""An iteration is left after `unscale_` and before `update()`.

## What it does
Flags `continue`, `break` and `return` after `scaler.unscale_(optimizer)` and before `scaler.step` and `scaler.update`
if the next iteration unscales again. Usually the branch leaves out a batch with bad gradients; so may the handler of an
exception that is raised in between.

## Why it matters
The scaler remembers until `update()` that it has unscaled. Your first bad batch goes well, and the batch after it
raises `RuntimeError: unscale_() has already been called on this optimizer since the last update().` The scale does not
come down either: `update()` is what lowers it after an overflow.

`scaler.step` leaves out a step with bad gradients by itself, so you may not need the branch at all. Leaving before the
backward pass is fine.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not torch.isfinite(norm):
        continue
    scaler.step(optimizer)
    scaler.update()
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not torch.isfinite(norm):
        scaler.update()
        continue
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix, which adds `scaler.update()` before the exit, is only shown: taking the branch away may be better, and you know
what else it is there for. An exit from a handler has no fix: `update()` raises itself where nothing was unscaled before.

## Limitations
If step and update stand in a branch of their own, and nothing leaves, that is AMP110. A handler counts if it catches
what a `raise` of the same file raises; one that goes on to the end of the iteration is no exit. A function that its own
file does not call counts as an iteration if it unscales and updates, both outside of loops.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.unscale_
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import DISPLAY, Fix, NoFix
from amplint.model.events import Unscale, ZeroGrad
from amplint.model.observables import RAISED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, protocol_edits
from .amp110_repeated_unscale import ERROR_TEXT

KIND = HazardKind.EXIT_BETWEEN_UNSCALE_AND_UPDATE


@rule("AMP120", KIND, ERROR, HIGH, "0.1.0", fix=DISPLAY, observable=Observable(RAISED))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND):
        if not isinstance(found.node, (cst.Continue, cst.Break, cst.Return)):
            continue
        word = type(found.node).__name__.lower()
        scaler = found.scaler_name
        yield Finding(
            file.range(found.node),
            f"`{word}` skips `{scaler}.update()` after `{scaler}.unscale_`",
            note=f"the next `unscale_` raises {ERROR_TEXT}{protocol_edits.while_enabled(found)}",
            related=hazard_calls.related(file, found, unscaled="unscaled here", next="raises here"),
            fix=mend(file, found) or NoFix("only you can say what should become of this batch"),
        )


def mend(file: File, found: Found) -> Fix | None:
    """Update before leaving."""
    if isinstance(file.tree.enclosing(found.node, cst.ExceptHandler, cst.FunctionDef), cst.ExceptHandler):
        return None
    scaler, line = protocol_edits.scaler_at(file, found, found.node, Unscale), file.editor.statement(found.node)
    if scaler is None or not isinstance(line, cst.SimpleStatementLine):
        return None
    added = [f"{file.tree.text(scaler)}.update()", *_clears(file, found)]
    title = f"Add {' and '.join(f'`{each}`' for each in added)} before leaving"
    return Fix(title, (file.editor.insert_before(line, *added),), DISPLAY)


def _clears(file: File, found: Found) -> list[str]:
    """The call that clears gradients, where it stands behind the exit only: those of this batch would stay."""
    clears = found.at_home(ZeroGrad)
    left = file.tree.span(found.node)[1]
    behind = all(file.tree.span(each)[0] > left for each in clears)
    return [file.tree.text(each) for each in clears[:1] if behind]
