"""A learning-rate scheduler advances in iterations whose optimizer step the scaler has skipped.

## What it does
Flags `scheduler.step()` in the same iteration as `scaler.step(optimizer)` if nothing has asked whether that step was
taken.

## Why it matters
The scaler leaves the optimizer step out whenever a gradient is inf or NaN: usually a few times at the very start, while
the scale settles, and about once each time it has grown. Your schedule moves on all the same, one step ahead of the
training for every skip. In a run of 20 iterations with 6 real steps, `OneCycleLR` had arrived at its last learning
rate. PyTorch warns only if the very first step is skipped ("Detected call of `lr_scheduler.step()` before
`optimizer.step()`"). That warning does not mean that your calls are in the wrong order.

In a long run with a slow schedule a handful of steps makes no difference worth the two reads of the scale. Warm-ups and
one-cycle schedules are where it shows. Schedulers that you step once per epoch or at moments of their own, or tell a
metric or a position, are fine.

## Example
```python
import torch

scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=10_000)
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
```

## Use instead
```python
import torch

scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=10_000)
for data, target in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    scale_before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() >= scale_before:
        scheduler.step()
```

## Fix safety
`update()` lowers the scale exactly when a step was skipped, and may raise it after one that was taken: hence `>=`. The
fix reads the scale before the step, lets the scheduler wait for the comparison, and moves it behind `update()` if it
stood before. A disabled scaler always reports 1.0, so the scheduler passes. Reading the scale waits for the device. The
fix is unsafe with several optimizers or schedulers, since the scale falls if any of the optimizers was skipped, and
where the scheduler runs under another condition than the step. You get none where step, update and scheduler are in
different functions, where the scaler may be None, and where there is a test already that cannot tell.

## Limitations
A scale that has sunk to zero cannot fall any more, so the test stops noticing skips. Schedulers of other libraries
count only if their name, or how they are used, says what they are. A hook counts if its base class comes from a file of
the project whose trainer steps through a scaler, or if such a trainer, in a file that imports connect with it, makes it
or calls its method back. An object that a factory makes counts if a class of the project steps through a scaler in the
one method that your loop calls, and advances its schedules in the other (`optimize_parameters`,
`update_learning_rate`). A schedule that accelerate's `prepare` was not given counts if the same function prepares its
optimizer in float16. A scaler that scales nothing but bfloat16 is AMP118's affair.

## References
- https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
- https://github.com/pytorch/pytorch/issues/67590
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, NoFix
from amplint.facts.bf16_scalers import Bf16Scalers
from amplint.facts.driven_objects import DrivenObjects
from amplint.facts.hook_schedules import HookSchedules
from amplint.facts.unprepared_schedules import UnpreparedSchedules
from amplint.model import vocabulary
from amplint.model.observables import SCHEDULER_LEAD, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, WARNING, File, Finding, Found, rule

from ._support import hazard_calls, made_elsewhere, protocol_edits
from ._support.scheduler_gate import gate, has_gate

KIND = HazardKind.SCHEDULER_NOT_GATED

_SKIPS = (
    "an inf or NaN in a gradient skips the step, mostly early in training; each skip puts the schedule one step ahead"
)
_RANGE_TEST = re.compile(
    r"(^|_)(find|search|range|sweep)\w*_(lr|rate)s?($|_)|(^|_)(lr|rate)_?(find|search|range|sweep)", re.IGNORECASE
)
"""What a function is called that tries one learning rate after the other."""
_BLIND = "the condition around the call does not tell whether the step was taken: `update` lowers the scale after a skipped step"


_HOOKS = tuple(rf"def {name}\(" for name in ("after_step", "after_iter", "after_train_iter", "after_train_step",
                                              "on_step_end", "on_batch_end", "on_train_batch_end", "on_update_end"))  # fmt: skip


_OWN = r"self\.\w*sched\w*\.step\(\)"
"""A loop in a class may have the step from a base class, and speak of no scaler itself."""


@rule(
    "AMP107",
    KIND,
    WARNING,
    HIGH,
    "0.1.0",
    fix=SAFE,
    triggers=(*_HOOKS, _OWN, *(f"^{name}$" for name in sorted(vocabulary.DRIVES))),
    keeps=("(Hook|Callback)$",),
    observable=Observable(SCHEDULER_LEAD),
)
def check(file: File) -> Iterator[Finding]:
    yield from _in_paths(file)
    yield from _in_hooks(file)
    yield from _unprepared(file)
    yield from _driven(file)


def _in_hooks(file: File) -> Iterator[Finding]:
    for each in file.fact(HookSchedules).found:
        schedule = hazard_calls.receiver(each.advance) or each.advance
        scaler = hazard_calls.receiver(each.step) if each.step is not None else None
        owner = f"`{file.tree.text(scaler)}`" if scaler is not None else "the trainer's scaler"
        yield Finding(
            file.range(each.advance.func),
            f"`{file.tree.text(schedule)}` advances even when {owner} skips the optimizer step",
            note=_SKIPS,
            related=file.related("stepped, or skipped, here", each.step) if each.step is not None else (),
            fix=NoFix("the step and the schedule are in two methods"),
            needs=frozenset({each.driver}) if each.driver else frozenset(),
        )


def _unprepared(file: File) -> Iterator[Finding]:
    for each in file.fact(UnpreparedSchedules).found:
        schedule = file.tree.text(hazard_calls.receiver(each.advance) or each.advance)
        yield Finding(
            file.range(each.advance.func),
            f"`{schedule}` advances even when the accelerator skips the optimizer step",
            note="a schedule that `prepare` was given waits for the optimizer's steps; any other advances at each call",
            related=file.related("stepped, or skipped, here", each.step),
            fix=NoFix("`prepare` may hand its objects to code that does not know of the schedule"),
        )


def _driven(file: File) -> Iterator[Finding]:
    for each in file.fact(DrivenObjects).found:
        yield Finding(
            file.range(each.advance.func),
            f"`{file.tree.text(each.advance.func)}()` advances the schedule even when the scaler of its object skips the step",
            note=_SKIPS,
            related=file.related("stepped, or skipped, here", each.step),
            fix=NoFix("a part of the defect is in another file"),
            needs=frozenset({each.needs}),
        )


_UNGATED = "no gate is surely right where the schedule stands"


def _in_paths(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True, halves=True):
        if _skips_nothing(file, found):
            continue
        if _tests_rates(file, found.act):
            continue
        scaler = found.scaler_name
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"{_act(file, found)} even when `{scaler}` skips the optimizer step",
            note=_BLIND if has_gate(file, found.act) else _SKIPS,
            related=(
                *hazard_calls.related(file, found, step="stepped, or skipped, here"),
                *made_elsewhere.schedule(file, hazard_calls.receiver(found.act)),
            ),
            defect=hazard_calls.defect(found),
            fix=hazard_calls.mended(file, found, gate, _UNGATED),
        )


def _skips_nothing(file: File, found: Found) -> bool:
    """Whether all that the scaler scales is computed in bfloat16, where scaled gradients overflow no sooner (AMP118)."""
    scaler = hazard_calls.receiver(found.related["step"]) if "step" in found.related else None
    made = set(file.roles.values(scaler)) if scaler is not None else set[cst.BaseExpression]()
    return bool(made) and made <= file.fact(Bf16Scalers).found.keys()


def _tests_rates(file: File, act: cst.CSTNode) -> bool:
    """Whether a function around a place looks for a learning rate: it notes the loss at each of them, stepped or not."""
    around = (each.name.value for each in file.tree.ancestors(act) if isinstance(each, cst.FunctionDef))
    return any(map(_RANGE_TEST.search, around))


def _act(file: File, found: Found) -> str:
    if found.origin is not None and not found.is_half:
        return f"`{protocol_edits.call_for_message(file, found.node)}` advances the schedule"
    return f"`{file.tree.text(hazard_calls.receiver(found.act) or found.act)}` advances"
