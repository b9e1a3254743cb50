"""Gradients are clipped while they are still multiplied by the loss scale.

## What it does
Flags a clip (`clip_grad_norm_`, `clip_grad_value_`, `clip_grads_with_norm_`, or clamping `.grad` by hand) that meets
the gradients of `scaler.scale(loss).backward()` before `scaler.unscale_(optimizer)` has run. An `unscale_` after the
clip comes too late, and is flagged just the same. So is a hook on the parameters that clamps each gradient, for it runs
in the backward pass.

## Why it matters
Until `unscale_` runs, each gradient is multiplied by the scale, 65536 at the start. Your `max_norm` of 1.0 then works
like 1.5e-5: almost every step is cut down to that length. With SGD, training stands still. With Adam the loss still
falls, so you would not notice, but every update is normalised. `clip_grad_value_` does something worse: it turns an
infinite gradient into a finite one before the scaler can see the overflow, so the bad step is taken and the scale never
comes down. PyTorch raises nothing in any of these cases.

If you did mean the scaled gradients, multiply the threshold by `scaler.get_scale()`. That is right, and not flagged.

## Example
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Use instead
```python
import torch

with torch.autocast("cuda", dtype=torch.float16):
    loss = criterion(model(data), target)
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
```

## Fix safety
The fix puts `scaler.unscale_(optimizer)` in front of the clip, or moves the one behind it there; `scaler.step` knows
that it need not unscale again. It is safe where one optimizer owns the clipped parameters and clip and step run in the
same iterations. You get no fix where several optimizers share the clip, where it runs for every micro-batch (a second
`unscale_` would raise), where the scaler may be None, and where scaler or optimizer has no name at the clip.
Where an `Accelerator` owns the scaler, the clip becomes `accelerator.clip_grad_norm_`, which unscales first.

## Limitations
A clip in a function that neither runs the backward pass nor is called after one in the files at hand is reported only
where the function itself unscales behind it, or steps with a scaler that its class or file makes and for which no file of
the project calls `unscale_`: else the caller may have unscaled. You get no fix there. Left alone is a clip whose threshold
may be multiplied by the scale, because it comes from `get_scale()` through helpers, or from a parameter that is called a
scale.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import SAFE, NoFix
from amplint.facts.hooked_clips import HookedClip, HookedClips
from amplint.model.literals import number, number_text
from amplint.model.observables import NORM_SEEN, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import ERROR, HIGH, File, Finding, Found, rule

from ._support import hazard_calls, insert_unscale, optimizer_notes, scaler_owners

KIND = HazardKind.CLIP_BEFORE_UNSCALE
_IN_HOOK = NoFix("the hook runs before anything can unscale: the clip belongs behind `unscale_`")


@rule("AMP101", KIND, ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(NORM_SEEN))
def check(file: File) -> Iterator[Finding]:
    for found in file.analysis.of(KIND, elsewhere=True, halves=True):
        scaler, unscaled = found.scaler_name, insert_unscale.repair(file, found, "the clip")
        yield Finding(
            hazard_calls.callee_range(file, found.node),
            f"Gradients are clipped before `{scaler}` unscales them",
            note=consequence(found),
            related=hazard_calls.related(file, found, scaled="scaled here", **insert_unscale.SHOWN_LATE),
            defect=hazard_calls.defect(found),
            fix=unscaled or scaler_owners.clip(file, found) or unscaled,
            needs=insert_unscale.needs(found),
        )
    yield from (_hooked(file, clip) for clip in file.fact(HookedClips).all)


def _hooked(file: File, clip: HookedClip) -> Finding:
    """A hook that clips each gradient in the backward pass."""
    scaler = file.tree.text(clip.steps.scaler)
    scale = optimizer_notes.scale_in_words(file.roles.of(clip.steps.scaler))
    return Finding(
        file.range(clip.call.func),
        f"Gradients are clipped before `{scaler}` unscales them",
        f"the hook runs in the backward pass; {_per_value(clip.limit, scale)}",
        file.related(f"stepped through `{scaler}` here", clip.steps.call),
        _IN_HOOK,
    )


def consequence(found: Found) -> str:
    """What the clip does to the true gradients, in the author's own numbers where they are known."""
    by, limit = found.hazard.details
    scale_text = optimizer_notes.initial_scale(found)
    if not limit:
        return f"the limit applies to gradients multiplied by the scale, {scale_text} at first: it is that much too low"
    if by == "norm":
        return _limited(limit, scale_text, "the norm of the true gradients")
    if by == "value":
        return _per_value(limit, scale_text)
    return f"the limit applies to gradients multiplied by the scale, {scale_text} at first"


def _per_value(limit: str, scale: str) -> str:
    return f"{_limited(limit, scale, 'each true gradient')}, and hides overflows from the scaler"


def _limited(limit: str, scale: str, what: str) -> str:
    """What a limit comes to, as a number where the author wrote one."""
    threshold, initial = number(limit), number(scale)
    effective = f"`{limit}` / {scale}" if threshold is None or not initial else number_text(threshold / initial, 3)
    return f"at the initial scale of {scale}, the limit `{limit}` keeps {what} below {effective}"
