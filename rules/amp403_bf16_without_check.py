"""bfloat16 is used on whatever GPU there is; those before Ampere only emulate it.

## What it does
Flags two things. One is an autocast region for CUDA that is bfloat16 by the text of the file, if the file neither asks
for the hardware nor lets anyone choose. The other is `torch.cuda.is_bf16_supported()` without
`including_emulation=False`.

## Why it matters
GPUs compute in bfloat16 from compute capability 8.0 (Ampere) on; a V100 or a T4 does not. With PyTorch up to 2.2
whoever runs your code there gets
`RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.` From 2.3 on it runs,
emulated: slowly, and some kernels are missing. Since then `is_bf16_supported()` says yes wherever a bfloat16 tensor can
be created, so it answers another question than the one you asked.

You may know your GPUs, which is why the rule is off unless selected.

## Example
```python
import torch

@torch.no_grad()
def predict(model, batches):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return [model(batch) for batch in batches]
```

## Use instead
```python
import torch

@torch.no_grad()
def predict(model, batches):
    native = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=native):
        return [model(batch) for batch in batches]
```

## Fix safety
Unsafe. The fix switches a region off where the GPU has no bfloat16: float32 runs everywhere, and float16 would need
loss scaling. There is no such fix where something else in the file is bfloat16, or where the region is made while the
file is imported, because the question would start CUDA there. A question that counts emulation is replaced with one
that does not.

## Limitations
Any question for the hardware in the file, and any condition of the same function that speaks of a precision, counts as
a choice; so does a flag that may switch the region off. A check in another file is not seen. Regions whose device type
cannot be told are silent, unless it is that of a device object.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_bf16_supported.html
- https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-capabilities
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.model import vocabulary
from amplint.model.observables import ON_OLD_GPU, Observable
from amplint.model.torch import names as torch_names
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

from ._support.bfloat16_questions import EMULATION, hardware_question, sound_question
from ._support.call_edits import has_star, keyword, positionals

_COUNTS_EMULATION = frozenset({"torch.cuda.is_bf16_supported"})

_CAPABILITY_WORD = r"device_capability|get_device_properties|get_arch_list|compute_cap|ampere"
_HARDWARE = re.compile(
    rf"{_CAPABILITY_WORD}|bf(loat)?_?16\w*(support|availab|capab)|(support|has|can)\w*bf(loat)?_?16", re.IGNORECASE
)
"""Names by which a file asks what the hardware can do."""
_SOUND = re.compile(rf"{_CAPABILITY_WORD}|native", re.IGNORECASE)


@rule(
    "AMP403",
    "bf16-without-check",
    WARNING,
    MEDIUM,
    "0.1.0",
    fix=UNSAFE,
    default=False,
    triggers=(r"^is_bf16_supported$", _CAPABILITY_WORD),
    observable=Observable(ON_OLD_GPU),
)
def check(file: File) -> Iterator[Finding]:
    for call in file.tree.find(cst.Call):
        if file.names.all_in(call.func, _COUNTS_EMULATION) and _counts_emulation(file, call):
            yield Finding(
                file.range(call.func),
                "`is_bf16_supported()` is also true for emulated bfloat16 since PyTorch 2.3",
                "on a GPU of compute capability below 8.0 the answer is true, but bfloat16 is emulated there, and slow",
                fix=sound_question(file, call) or NoFix("`is_bf16_supported` is imported by itself"),
            )
    if any(_HARDWARE.search(name.value) for name in file.tree.find(cst.Name)):
        return
    for call in _regions(file):
        if not any(_is_chosen(file, place) for place in (call, *_entered(file, call))):
            yield Finding(
                file.range(call.func),
                "The autocast region is bfloat16 whether or not the GPU supports it",
                "below compute capability 8.0, PyTorch up to 2.2 raises an error, and later versions emulate bfloat16 slowly",
                fix=_switched_off(file, call) or NoFix(_why_not(file, call)),
            )


# -- the question ------------------------------------------------------------------------------------------------------


def _counts_emulation(file: File, call: cst.Call) -> bool:
    """Whether a question counts emulation, and nothing beside it asks for the hardware."""
    given = keyword(call, EMULATION)
    value = given.value if given is not None else next((arg.value for arg in positionals(call)), None)
    if has_star(call) or not (value is None or (isinstance(value, cst.Name) and value.value == "True")):
        return False
    if file.tree.enclosing(call, cst.Decorator, cst.FormattedString) is not None:
        return False  # whether a test can run at all, or a line of a log
    home = file.names.scope(call)
    return not any(_SOUND.search(name.value) and file.names.scope(name) is home for name in file.tree.find(cst.Name))


# -- the region --------------------------------------------------------------------------------------------------------


def _regions(file: File) -> Iterator[cst.Call]:
    """The calls that make regions, or makers of regions, for bfloat16 and nothing else, on CUDA or what a device is."""
    for call in file.tree.find(cst.Call):
        if file.contexts.sources(call) == [call]:
            region = file.contexts.settings(call)
            if (region.dtype, region.enabled) == ("bfloat16", "yes") and (
                region.device == "cuda" or (region.device == "?" and _is_of_an_object(file, call))
            ):
                yield call


def _device(file: File, call: cst.Call) -> cst.BaseExpression | None:
    """What a region is given for the type of its device; None where its class says that."""
    if not file.names.resolve(call.func) <= torch_names.AUTOCAST_GENERIC:
        return None
    given = keyword(call, "device_type") or next(iter(positionals(call)), None)
    return given.value if given is not None else None


def _is_of_an_object(file: File, call: cst.Call) -> bool:
    """Whether a region is on the device that an object stands for: `device_type=device.type`."""
    return isinstance(device := _device(file, call), cst.Attribute) and device.attr.value == "type"


def _entered(file: File, made: cst.Call) -> Iterator[cst.CSTNode]:
    """The `with` items that enter a region."""
    for item in file.tree.find(cst.WithItem):
        if made in file.contexts.sources(item.item):
            yield item


def _is_chosen(file: File, place: cst.CSTNode) -> bool:
    """Whether a condition of the same function speaks of a precision, or the function or a key of a table is named after one."""
    home = _home(file, place)
    if any(
        isinstance(above, (cst.FunctionDef, cst.ClassDef)) and vocabulary.PRECISION_CHOICE.search(above.name.value)
        for above in file.tree.ancestors(place)
    ):
        return True
    entries = (above.key for above in file.tree.ancestors(place) if isinstance(above, cst.DictElement))
    if any(vocabulary.PRECISION_VALUE.search(file.tree.text(key)) for key in entries):
        return True
    tests = [each.test for each in file.tree.find(cst.If)] + [each.test for each in file.tree.find(cst.IfExp)]
    return any(_home(file, test) is home and vocabulary.PRECISION_CHOICE.search(file.tree.text(test)) for test in tests)


def _home(file: File, place: cst.CSTNode) -> cst.CSTNode:
    """The function of a place, or the module: where a lambda is made, the precision is chosen for it."""
    scope = file.names.scope(place)
    while isinstance(scope, cst.Lambda):
        scope = file.names.scope(scope)
    return scope


def _switched_off(file: File, call: cst.Call) -> Fix | None:
    """The region, enabled only where the GPU has bfloat16."""
    direct = file.names.all_in(call.func, torch_names.AUTOCAST)
    in_function = isinstance(file.names.scope(call), cst.FunctionDef)
    certain = direct and in_function and not _may_be_cpu(file, call)
    question = hardware_question(file, call) if certain and _is_all_of_bfloat16(file) else None
    if question is None or len(positionals(call)) > 2:
        return None
    text, imports = question
    enabled = keyword(call, "enabled")
    if enabled is not None:
        edit = Edit(*file.tree.span(enabled.value), text)
    else:
        end = file.tree.span(call.args[-1])[1]
        edit = Edit(end, end, f", enabled={text}")
    edits = file.importer.joined([*imports, edit])
    return Fix("Enable the region only where the GPU has bfloat16", edits, UNSAFE)


def _may_be_cpu(file: File, call: cst.Call) -> bool:
    """Whether the device of a region is chosen when the program runs."""
    return not isinstance(_device(file, call), cst.SimpleString | None)


def _why_not(file: File, call: cst.Call) -> str:
    """Why the region is left as it is."""
    if _may_be_cpu(file, call):
        return "the region may be for a CPU, which needs no check"
    return "no question about the GPU fits where the dtype is chosen"


def _is_all_of_bfloat16(file: File) -> bool:
    """Whether regions are all that is bfloat16 in a file: without them, nothing of another precision meets it."""
    if any(name.value == "bfloat16" and _is_method(file, name) for name in file.tree.find(cst.Name)):
        return False
    return all(_is_of_region(file, node) for node in file.names.references({"torch.bfloat16"}))


def _is_method(file: File, name: cst.Name) -> bool:
    function = file.tree.parent(name)
    called = file.tree.parent(function) if isinstance(function, cst.Attribute) else None
    return isinstance(called, cst.Call) and called.func is function


def _is_of_region(file: File, node: cst.BaseExpression) -> bool:
    """Whether a mention of bfloat16 is an argument of a region, or a constant that is nothing else."""
    holder = file.tree.parent(node)
    if isinstance(holder, cst.Arg):
        call = file.tree.parent(holder)
        return isinstance(call, cst.Call) and file.contexts.sources(call) == [call]
    if not isinstance(holder, cst.Assign):
        return False
    names = {each.target.value for each in holder.targets if isinstance(each.target, cst.Name)}
    uses = [
        name
        for name in file.tree.find(cst.Name)
        if name.value in names and not isinstance(file.tree.parent(name), cst.AssignTarget)
    ]
    return bool(names) and all(isinstance(file.tree.parent(use), cst.Arg) and _is_of_region(file, use) for use in uses)
