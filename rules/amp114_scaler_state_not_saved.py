"""A checkpoint to resume from holds the state of the optimizer, and not that of its `GradScaler`.

## What it does
Flags the place where the state of an optimizer, which an enabled scaler steps, goes into a checkpoint without the state
of the scaler: a dict, a key, a file of its own, or a helper that would take the scaler if you gave it one. Checkpoints
are followed through variables, later keys and helpers, also into other files and objects that were given the optimizer.
A callback that is given its trainer is flagged if a trainer of that name steps the optimizer in a file that imports
connect with it, and hands itself out.
An object around a scaler (`NativeScaler`) counts as one, also where an option may choose another object instead; an
optimizer inside of an object that steps it counts as the object. An optimizer that is registered with a checkpointer
(`checkpointer.add_recoverable("optimizer", optimizer)`) is flagged if the file makes the scaler and registers it
nowhere. Beside a checkpoint that has the scaler's state, another one is flagged if it is saved in the same loop and
holds all the rest, as the best of all epochs often does.
An object's own `state_dict` counts as a checkpoint if its `load_state_dict` loads the optimizer's state, too; so does a
`_state_dict` or a `get_state` with its counterpart.
Where the scaler's state is saved, it flags the load of the optimizer's state from the same checkpoint, if nothing in the
file loads the scaler's; a function of another file may load.

## Why it matters
The scaler has learned which scale your gradients bear. Resumed without its state it starts at 65536 again, and if that
is too much, step after step is skipped until the scale has come down, while your schedule goes on. A run whose scale
had settled at 2 lost 15 steps after the resume, and none when the state was saved. PyTorch raises nothing.

If you never resume from the file, or your scale stays near 65536 anyway, you lose next to nothing by leaving it as it
is. Weights alone need no scaler, and are silent.

## Example
```python
import torch

scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(epochs):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
```

## Use instead
```python
import torch

scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(epochs):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, path
    )
```

## Fix safety
The fix saves the state next to that of the optimizer, which is safe: what reads the checkpoint today goes on reading
it. If the same file loads the optimizer's state, the fix loads the scaler's behind it, if the checkpoint has it, so
that old checkpoints load as before. A scaler that is made further down is made before the load, if it is made of
nothing that changes in between. That is safe, too, and unsafe in a training loop that goes back to an earlier state.
Where the load is out of the scaler's reach, or may run before the scaler is made, the fix saves only, and a finding
at the load says what is left. You get no fix where the scaler is out of reach, as in a helper that would need a
parameter.

## Limitations
A checkpoint that something unknown may add to (`**extra`, a callback that gets the dict) is flagged only if nothing
unknown gets at the scaler. One that a function of unknown source puts together is not flagged; nor is one of a scaler
that has no life of its own, because each epoch makes another (AMP113), whose scale is saved as a number, or that scales
nothing but bfloat16 (AMP118). A checkpointer that a function is given is flagged where it is told how far the training
has come, and the function keeps its scaler to itself. What a test saves, nobody resumes from.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training
- https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, NoFix, Related
from amplint.facts.bf16_scalers import Bf16Scalers
from amplint.facts.given_savers import GivenSavers
from amplint.facts.given_trainers import GivenTrainers
from amplint.facts.inherited_savers import InheritedSavers
from amplint.facts.rebuilt_scalers import RebuiltScalers
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.facts.returned_states import ReturnedStates
from amplint.facts.saved_by_helpers import Incomplete
from amplint.facts.steps_abroad import StepsAbroad
from amplint.facts.trial_code import Trials
from amplint.model.observables import RESUMED, Observable
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support.checkpoint_state import complete, give_back

_NOTE = "a resumed run starts from the initial scale again: where that is too large, steps are skipped until it has come down"

_NOT_SAVED_HERE = "the function that saves is in another file"
_NOT_LOADED_HERE = "the function that loads is in another file"
_NOT_CLEAR = "where the state could be loaded is not clear here"

_HELD = r"\w*optim\w*\.state_dict\("
"""What saves a trainer of another file may speak of no scaler itself."""

_GIVEN = r"save\w*\(.*\.optim\w*[,)]"
"""What gives it to a helper that saves, likewise."""


@rule(
    "AMP114",
    "scaler-state-not-saved",
    WARNING,
    MEDIUM,
    "0.1.0",
    fix=SAFE,
    triggers=(_HELD, _GIVEN),
    observable=Observable(RESUMED),
)
def check(file: File) -> Iterator[Finding]:
    for each in file.fact(Checkpoints).incomplete:
        if not lasts(file, each.pair.scaler) or file.fact(Trials).is_in_one(each.place):
            continue
        fix = complete(file, each)
        note = _NOTE
        if fix is not None and "load" not in fix.title and not file.fact(Checkpoints).scaler_states.loads_scaler:
            note += "; load the saved state where you resume, too"
        yield Finding(
            file.range(each.place),
            "The checkpoint holds the state of the optimizer, but not that of its `GradScaler`",
            note=note,
            related=_related(file, each),
            fix=fix
            or NoFix(_NOT_SAVED_HERE if _is_abroad(file, each) else "where the state could be saved is not clear here"),
            defect=each.helper,
        )
    yield from _beyond_reach(file)
    yield from _inherited(file)
    yield from _stepped_abroad(file)
    yield from _of_given_trainers(file)
    yield from _unrestored(file)


def _beyond_reach(file: File) -> Iterator[Finding]:
    for each in file.fact(GivenSavers).found:
        scaler = file.tree.text(each.pair.scaler)
        yield Finding(
            file.range(each.call.func),
            f"`{file.tree.text(each.call.func)}` cannot save the state of `{scaler}`, which only this function knows",
            note=_NOTE,
            related=file.related("the scaler goes with this optimizer", each.pair.call),
            fix=NoFix("only you can say how the scaler should reach the checkpointer"),
        )


def _inherited(file: File) -> Iterator[Finding]:
    for each in file.fact(InheritedSavers).found:
        if lasts(file, each.pair.scaler) and not file.fact(Trials).is_in_one(each.pair.call):
            saver, scaler = each.saver.name, file.tree.text(each.pair.scaler)
            yield Finding(
                file.range(each.pair.call.func),
                f"`{saver.value}`, which is inherited, saves the state of the optimizer, but not that of `{scaler}`",
                note=_NOTE,
                related=file.related("the state of the optimizer is taken here", saver),
                fix=NoFix("a part of the defect is in another file"),
            )


def _stepped_abroad(file: File) -> Iterator[Finding]:
    for each in file.fact(StepsAbroad).found:
        if not file.fact(Trials).is_in_one(each.state.place):
            yield Finding(
                file.range(each.state.place),
                f"The checkpoint holds the state of the optimizer, but not that of `{each.scaler}`",
                note=_NOTE,
                related=file.related("the scaler goes with this optimizer", each.step),
                fix=NoFix("a part of the defect is in another file"),
            )


def _of_given_trainers(file: File) -> Iterator[Finding]:
    for each in file.fact(GivenTrainers).found:
        if not file.fact(Trials).is_in_one(each.place):
            yield Finding(
                file.range(each.place),
                "The checkpoint holds the state of the optimizer, but not that of its `GradScaler`",
                note=_NOTE,
                fix=NoFix("a part of the defect is in another file"),
                needs=frozenset({each.needs}),
            )


def _unrestored(file: File) -> Iterator[Finding]:
    told: set[str] = set()
    for each in file.fact(Checkpoints).unrestored:
        scaler = file.tree.text(each.pair.scaler)
        if lasts(file, each.pair.scaler) and scaler not in told:
            told.add(scaler)  # of several optimizers that one scaler steps, each is loaded
            yield Finding(
                file.range(each.call),
                f"The state of `{scaler}` is saved but never restored",
                note=_NOTE,
                related=file.related("saved here", each.saved),
                fix=give_back(file, each) or NoFix(_NOT_LOADED_HERE if each.holder is None else _NOT_CLEAR),
            )


def _related(file: File, each: Incomplete) -> tuple[Related, ...]:
    pair = file.related("the scaler goes with this optimizer", each.pair.call)
    saver = file.fact(ReturnedStates).saver_abroad(each.state) if each.state is not None else None
    if saver is not None:
        return (*pair, *file.related("saved by this function", saver.name))
    if each.helper is None or not _is_abroad(file, each):
        return pair
    return (*pair, *file.related("saved by this function", each.helper.name))


def _is_abroad(file: File, each: Incomplete) -> bool:
    """Whether a function of another file saves."""
    return each.helper is not None and file.path(each.helper) != ""


def lasts(file: File, scaler: cst.BaseExpression) -> bool:
    """Whether a scaler has a state to speak of: one that each call of a function makes anew (AMP113) has none, nor has one
    that scales nothing but bfloat16 (AMP118)."""
    anew = {each.call for each in file.fact(RebuiltScalers).found if each.loop is None}
    made = {each for value in file.roles.values(scaler) for each in _sides(value)}
    return not made or not made <= anew | file.fact(Bf16Scalers).found.keys()


def _sides(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a value may be but None, as a conditional expression has it."""
    if isinstance(value, cst.IfExp):
        yield from (*_sides(value.body), *_sides(value.orelse))
    elif not (isinstance(value, cst.Name) and value.value == "None"):
        yield value
