"""An argument of `autocast` or `GradScaler` given by position lands in the wrong parameter.

## What it does
Flags arguments that land in another parameter than the one they were meant for: a flag where `torch.amp.autocast` takes
its `dtype`, a dtype where `torch.cuda.amp.autocast` takes `enabled`, a number or a flag where `torch.amp.GradScaler`
takes its `device`, a flag where a scaler takes `init_scale`.

## Why it matters
The parameters of `torch.amp.autocast` are `(device_type, dtype, enabled, cache_enabled)`, those of
`torch.cuda.amp.autocast` were `(enabled, dtype, cache_enabled)`, so a rewrite that only puts the device first moves
them all. `torch.amp.autocast("cuda", False)` fails with a `TypeError` when the region is entered. The scaler is more
dangerous, because it says nothing: in `torch.amp.GradScaler(1024.0)` the number becomes the device and your scale
starts at 65536, and `torch.amp.GradScaler(False)` is an enabled scaler, even on a machine without a GPU.

## Example
```python
import torch

def evaluate(model, images):
    with torch.amp.autocast("cuda", False):
        return model(images)
```

## Use instead
```python
import torch

def evaluate(model, images):
    with torch.amp.autocast("cuda", enabled=False):
        return model(images)
```

## Fix safety
Safe where the argument can be meant for one parameter only: the keyword is written in front of it. For the flag of a
`GradScaler` the fix is unsafe, because a scaler that was enabled may become disabled. You get none with star-arguments,
or where a keyword is taken already.

## Limitations
Flags are recognised by their value, their annotation or default, and by names such as `use_amp` and `amp_enabled`. A
dtype given second is what `torch.amp.autocast` expects, and is fine.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
- https://docs.pytorch.org/docs/stable/amp.html#torch.cuda.amp.GradScaler
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Applicability, Fix, NoFix
from amplint.model.observables import CONSTRUCTED, Observable
from amplint.model.torch import names as torch_names
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.call_edits import has_star, insert_arguments, positionals
from ._support.value_kinds import DTYPE, FLAG, NUMBER, kind

_AUTOCAST_OLD = torch_names.DEPRECATED["torch.cuda.amp.autocast"].old
_SCALER = torch_names.GRAD_SCALER_PARAMETERS


@rule("AMP213", "positional-amp-argument", ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(CONSTRUCTED))
def check(file: File) -> Iterator[Finding]:
    for node in file.names.references(torch_names.AUTOCAST | torch_names.GRAD_SCALER):
        call = file.tree.parent(node)
        if isinstance(call, cst.Call) and call.func is node and not has_star(call):
            [name] = sorted(file.names.resolve(node))[:1]
            yield from _misplaced(file, call, name)


def _misplaced(file: File, call: cst.Call, name: str) -> Iterator[Finding]:
    given = [kind(file, arg.value) for arg in positionals(call)]
    first, second = (*given, None, None)[:2]
    if name in torch_names.AUTOCAST_GENERIC and second == FLAG:
        note = "entering the region raises TypeError: `set_autocast_dtype` wants a dtype"
        sound = len(given) < 3 or given[2] == DTYPE
        yield _finding(file, call, name, 1, ("dtype", "enabled"), _AUTOCAST_OLD, note, sound)
    elif name in torch_names.AUTOCAST_DEVICE and first == DTYPE:
        note = "entering the region raises TypeError: `set_autocast_enabled` wants a bool"
        yield _finding(file, call, name, 0, ("enabled", "dtype"), ("dtype",), note, len(given) == 1)
    elif name in torch_names.GRAD_SCALER_GENERIC and first == NUMBER:
        note = (
            "PyTorch accepts the argument silently: `init_scale` stays 65536, and nothing tests whether there is a GPU"
        )
        yield _finding(file, call, name, 0, ("device", "init_scale"), _SCALER[1:], note, len(given) < len(_SCALER))
    elif name in torch_names.GRAD_SCALER_GENERIC and first == FLAG:
        note = "PyTorch accepts the argument silently: the scaler is enabled whatever the flag says"
        yield _finding(file, call, name, 0, ("device", "enabled"), ("enabled",), note, len(given) == 1, UNSAFE)
    elif name in torch_names.GRAD_SCALER:
        place = 1 if name in torch_names.GRAD_SCALER_GENERIC else 0
        if len(given) > place and given[place] == FLAG:
            note = (
                "PyTorch accepts the argument silently: the scaler is enabled, and its scale starts at the flag, 1 or 0"
            )
            sound = len(given) == place + 1
            yield _finding(file, call, name, place, ("init_scale", "enabled"), ("enabled",), note, sound, UNSAFE)


def _finding(
    file: File,
    call: cst.Call,
    name: str,
    place: int,
    parameters: tuple[str, str],
    keywords: Sequence[str],
    note: str,
    sound: bool,
    applicability: Applicability = SAFE,
) -> Finding:
    """The argument at `place` lands in the first of the parameters and was meant for the second.

    `keywords` are the parameters that it and the arguments after it were meant for.
    """
    lands, meant = parameters
    argument = file.tree.text(call.args[place].value)
    shown = f"`{argument}`" if len(argument) <= 30 and "\n" not in argument and "`" not in argument else "An argument"
    used = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    named = keywords[: len(positionals(call)) - place]
    fix = None
    if sound and not used & set(named):
        title = f"Add the keyword `{meant}`" if len(named) == 1 else "Add the keywords"
        fix = Fix(title, tuple(insert_arguments(file, call, (), keywords, place)), applicability)
    return Finding(
        file.range(call.func),
        f"{shown} is passed to `{name}` as `{lands}`, not as `{meant}`",
        note,
        fix=fix or NoFix("other arguments of the call are in the way"),
    )
