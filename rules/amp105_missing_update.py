"""A scaler steps, and steps again without an update in between.

## What it does
Flags `scaler.step(optimizer)` if the next `step` or `unscale_` can come before `scaler.update()`: because there is no
update, because it runs less often than the step, or because a `continue` jumps over it.

## Why it matters
The scaler remembers that it has stepped until you call `update()`. Your second iteration raises
`RuntimeError: step() has already been called since the last update().`, or, if it unscales first,
`RuntimeError: unscale_() is being called after step().` A disabled scaler never complains, so a test run on a machine
without a GPU does not show it.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
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
    scaler.step(optimizer)
    scaler.update()
```

## Fix safety
The fix adds `scaler.update()` behind the last step of the iteration, and is safe where there is one such place. You get
no fix where the scaler is updated somewhere already (the call has to move, and you know where to), where the steps of
an iteration are spread over branches or functions, and for a loop over optimizers.

## Limitations
If the update is in another function, or under another condition than the step, the rule says nothing: the two may agree
in a way that the text does not show.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.cuda.amp.GradScaler.update
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Fix, NoFix
from amplint.model.events import ScalerStep, ScalerUpdate
from amplint.model.observables import RAISED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, protocol_edits

KIND = HazardKind.MISSING_UPDATE
_LOOPS = (cst.For, cst.While)


@rule("AMP105", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(RAISED))
def check(file: File) -> Iterator[Finding]:
    for found in last_steps(file):
        if not found.scaler.made and scales_without_update(file):
            continue
        updates = found.calls(ScalerUpdate)
        if not isinstance(found.node, cst.Call):
            continue
        if not all(runs_less_often(file, found, each) or is_left_over(file, found, each) for each in updates):
            continue
        step = protocol_edits.fit_for_message(file.tree.text(found.node), "scaler.step")
        scaler = hazard_calls.base_text(file, found.node) if found.origin is None else found.scaler_name
        update = f"{scaler}.update()"
        is_updated = bool(updates) or is_updated_around(file, found)
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"`{step}` can run again before `{update}`" if is_updated else f"`{step}` is never followed by `{update}`",
            note=consequence(file, found),
            related=()
            if found.related.get("next") is found.node
            else hazard_calls.related(file, found, next="raises here"),
            defect=hazard_calls.defect(found),
            fix=(mend(file, found) if found.whole and not is_updated else None)
            or NoFix("no single place here is right for `update()`"),
        )


def last_steps(file: File) -> list[Found]:
    """One update is missing for all steps of an iteration: of the hazards of one scaler and function, the last; one in another
    file where this one has none."""
    last: dict[tuple[str, cst.CSTNode | None], Found] = {}
    all_ = file.analysis.of(KIND, elsewhere=True)
    own = {found.hazard.scaler_name for found in all_ if found.origin is None}
    for found in all_:
        if found.origin is None or found.hazard.scaler_name not in own:
            last[found.hazard.scaler, file.tree.enclosing(found.node, cst.FunctionDef)] = found
    return list(last.values())


def scales_without_update(file: File) -> bool:
    """Whether a class of the file, or one that it imports, is a loss scaler of the author's own that is never updated."""
    for scaler in (*file.tree.find(cst.ClassDef), *_imported_scalers(file)):
        methods = {each.name.value for each in scaler.body.body if isinstance(each, cst.FunctionDef)}
        if not scaler.bases and {"scale", "step"} <= methods and "update" not in methods:
            return True
    return False


def _imported_scalers(file: File) -> Iterator[cst.ClassDef]:
    """The classes of other files of the project that are imported, and called scalers."""
    for name, bindings in file.names.bindings_in(file.tree.module).items():
        for each in bindings if "scal" in name.lower() else ():
            node = file.imports.definition(each.qualified) if isinstance(each.node, cst.ImportAlias) else None
            if isinstance(node, cst.ClassDef):
                yield node


def runs_less_often(file: File, found: Found, update: cst.Call) -> bool:
    """Whether the step, as the text shows, runs without `update`: nothing lies between it and their common block but loops, with
    branches that are taken in all iterations or in none, or they are the two sides of such a branch."""
    together = file.tree.enclosing(update, cst.FunctionDef) is file.tree.enclosing(found.node, cst.FunctionDef)
    block = hazard_calls.common_block(file, found.node, update)
    if block is None or not together or "[" in found.hazard.optimizer:
        return False
    guards = hazard_calls.guards(file, found.node, block)
    loops = [guard for guard in guards if isinstance(guard, _LOOPS)]
    branches = [guard for guard in guards if guard not in loops and not is_tried(file, guard, found.node)]
    if loops and all(runs_once(file, loop) for loop in loops):
        return False
    alike = all(comes_out_alike(file, branch) for branch in branches)
    if not branches or alike and (loops or is_now_and_then(file, update, block)):
        return True
    return is_on_the_other_side(file, guards, update)


def is_left_over(file: File, found: Found, update: cst.Call) -> bool:
    """Whether a step comes when the loop with `update` is over: whatever it asks, nothing updates after it until that loop runs
    again, where another step, or `unscale_`, comes first."""
    step, following = found.node, found.related.get("next", found.node)
    block = hazard_calls.common_block(file, step, update)
    if block is None or file.tree.function(step) is not file.tree.function(update):
        return False
    loops = [each for each in hazard_calls.guards(file, update, block) if isinstance(each, _LOOPS)]
    if file.tree.order(step) > file.tree.order(update) and any(
        hazard_calls.holds(file, each, following) for each in loops
    ):
        return True
    return any(_leaves(each) for each in file.tree.ancestors(step) if hazard_calls.holds(file, block, each))


def _leaves(block: cst.CSTNode) -> bool:
    """Whether a block ends the loop, or the function, that it stands in."""
    last = block.body[-1] if isinstance(block, cst.IndentedBlock) else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Break, cst.Return))


def runs_once(file: File, loop: cst.CSTNode) -> bool:
    """Whether a loop is one over `range(1)`, be the number a constant with a name."""
    through = loop.iter if isinstance(loop, cst.For) else None
    if not isinstance(through, cst.Call) or len(through.args) != 1 or file.tree.text(through.func) != "range":
        return False
    number = file.integer(through.args[0].value)
    return number is not None and number.evaluated_value == 1


def is_tried(file: File, guard: cst.CSTNode, step: cst.CSTNode) -> bool:
    """Whether a guard is a `try` that begins with what holds a step, and does so in every iteration."""
    return isinstance(guard, cst.Try) and guard.body in file.tree.ancestors(step)


def comes_out_alike(file: File, guard: cst.CSTNode) -> bool:
    """Whether a guard is a side of a branch that comes out alike in every iteration."""
    branch = file.tree.parent(guard) if isinstance(guard, cst.Else) else guard
    return isinstance(branch, cst.If) and not hazard_calls.varies(file, branch)


def is_now_and_then(file: File, update: cst.Call, block: cst.CSTNode) -> bool:
    """Whether a branch within a block, which comes out so or so in different iterations, decides whether `update` runs."""
    guards = hazard_calls.guards(file, update, block)
    return any(isinstance(each, cst.If) and hazard_calls.varies(file, each) for each in guards)


def is_on_the_other_side(file: File, guards: list[cst.CSTNode], update: cst.Call) -> bool:
    """Whether the branch that decides between some guarded code and `update` comes out alike in every iteration."""
    around = list(file.tree.ancestors(update))
    for guard in guards:
        branch = file.tree.parent(guard) if isinstance(guard, cst.Else) else guard
        if branch in around:
            return comes_out_alike(file, guard)
    return False


def consequence(file: File, found: Found) -> str:
    """The error, and the call that raises it."""
    following = found.related.get("next", found.node)
    call = following if isinstance(following, cst.Call) else found.node
    text = protocol_edits.fit_for_message(file.tree.text(call), "scaler.step(optimizer)")
    error = "step() has already been called since the last update()"
    if hazard_calls.method(call) == "unscale_":
        error = "unscale_() is being called after step()"
    return f"the next `{text}` raises `RuntimeError: {error}.`{protocol_edits.while_enabled(found)}"


def is_updated_around(file: File, found: Found) -> bool:
    """Whether a function that calls the one with the step, or another method of the same object, updates the same scaler: one
    more update in the middle of its passes would change the scale of some of them."""
    home, scaler = file.tree.enclosing(found.node, cst.FunctionDef), file.tree.text(found.node).partition(".step")[0]
    places: list[cst.CSTNode | None] = [
        file.tree.enclosing(call, cst.FunctionDef)
        for call in (file.flow.calls_of(home) if isinstance(home, cst.FunctionDef) else ())
    ]
    if scaler.startswith("self."):
        places.append(file.tree.enclosing(found.node, cst.ClassDef))
    calls = (call for place in places if place is not None for call in file.tree.inside(place, cst.Call))
    updates = (call for call in calls if file.tree.text(call.func) == f"{scaler}.update")
    return any(file.tree.enclosing(each, cst.FunctionDef) is not home for each in updates)


def mend(file: File, found: Found) -> Fix | None:
    """Update behind the last step of the iteration; None where that is not one place in this function."""
    assert isinstance(found.node, cst.Call)
    line = file.editor.statement(found.node)
    steps = [each for each in found.events(ScalerStep) if each[0].scaler == found.hazard.scaler]
    if not isinstance(line, cst.SimpleStatementLine) or "[" in found.hazard.optimizer:
        return None
    optimizers = {event.optimizer for event, node in steps if node is found.node}
    lines = [file.editor.statement(node) for _, node in steps]
    blocks = {file.editor.block(each) if each is not None else None for each in lines}
    if len(optimizers) > 1 or blocks != {file.editor.block(line)}:
        return None
    update = f"{hazard_calls.base_text(file, found.node)}.update()"
    return Fix(f"Add `{update}` after the step", (file.editor.insert_after(line, update),))
