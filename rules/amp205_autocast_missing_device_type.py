"""`autocast` is not told the device type, or is told something that is none.

## What it does
Flags `torch.autocast` and `torch.amp.autocast` without `device_type`, or with one that is no string (a `torch.device`,
a dtype, a flag), or with an index, as in `"cuda:0"` and in `str` of the device of a tensor.

## Why it matters
`device_type` is required, and it wants the type of a device (`"cuda"`, `"cpu"`), not a device. Without it your call
raises `TypeError: autocast.__init__() missing 1 required positional argument: 'device_type'`; for what is no string it
raises `ValueError` (`RuntimeError` before PyTorch 2.4). With an index it depends: PyTorch up to 2.3 raises
`RuntimeError`, 2.13 accepts it and skips the checks for CUDA and for bfloat16.

## Example
```python
import torch

def evaluate(model, images):
    device = torch.device("cuda:0")
    with torch.autocast(device, dtype=torch.float16):
        return model(images.to(device))
```

## Use instead
```python
import torch

def evaluate(model, images):
    device = torch.device("cuda:0")
    with torch.autocast(device.type, dtype=torch.float16):
        return model(images.to(device))
```

## Fix safety
Safe: `.type` is taken of what is surely a `torch.device`, an index is dropped, and a missing device type is written out
where the file leaves no doubt about it. You get no fix where the file names several device types, or none.

## Limitations
Of a name that an `if` or a `try` binds to one class or another, a call without any `device_type` is reported if it may
mean the class that needs one, and has no fix. A value counts as a `torch.device` if every assignment of the name is a
call of `torch.device`, or if its parameter is annotated so; so does `.device` of a parameter, of what is annotated or
used as a tensor, or given to a layer of torch, of an accelerator, and of a model that `from_pretrained` of transformers
or diffusers has loaded.
Calls with star-arguments are not looked at.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.model.observables import CONSTRUCTED, Observable
from amplint.model.torch import names as torch_names
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.call_edits import has_star, in_format_string, insert_arguments, keyword, positionals, quoted
from ._support.device_strings import stringified
from ._support.devices_in_sight import device_in_sight
from ._support.value_kinds import (
    DEVICE,
    DTYPE,
    FLAG,
    INDEX,
    NUMBER,
    device_elsewhere,
    device_texts,
    kept_texts,
    kind,
    names_tensors_device,
)
from ._support.version_checks import is_passed_over

_NO_STRING = "the call raises ValueError from PyTorch 2.4 on, RuntimeError before"
_NO_REGION = frozenset({"contextlib.nullcontext", "contextlib.suppress"})
_UNKNOWN = NoFix("the type of the device is not known here")
_INDEXED = (
    "PyTorch 2.13 accepts the index and skips the checks for CUDA and bfloat16; up to 2.3 the call raises RuntimeError"
)
_MISSING = "the call raises TypeError: `device_type` is required"


@rule(
    "AMP205",
    "autocast-missing-device-type",
    ERROR,
    HIGH,
    "0.1.0",
    fix=SAFE,
    entered=r"autocast\(\s*(device_type\s*=\s*)?(self\.)?\w*device\s*[,)]",
    observable=Observable(CONSTRUCTED),
)
def check(file: File) -> Iterator[Finding]:
    for node in file.names.references(torch_names.AUTOCAST_GENERIC):
        call = file.tree.parent(node)
        if isinstance(call, cst.Call) and call.func is node and not has_star(call):
            [name] = sorted(file.names.resolve(node))[:1]
            finding = _judge(file, call, name)
            if finding is not None:
                yield finding
    for call in file.tree.find(cst.Call):
        if type(call.func) is cst.Name and _may_lack_device(file, call.func) and not has_star(call):
            if not call.args or all(arg.keyword is not None for arg in call.args) and not keyword(call, "device_type"):
                [name] = sorted(file.names.resolve(call.func) & torch_names.AUTOCAST_GENERIC)[:1]
                yield Finding(
                    file.range(call.func), f"`{name}` is called without `device_type`", _MISSING, fix=_UNKNOWN
                )


def _may_lack_device(file: File, name: cst.Name) -> bool:
    """Whether a name that stands for one of several classes, by version or by flag, may be one that needs a device type."""
    meanings = file.names.resolve(name)
    if meanings <= torch_names.AUTOCAST_GENERIC or not meanings <= torch_names.AUTOCAST | _NO_REGION:
        return False
    return any(
        binding.node is not None
        and type(binding.value) is not cst.IfExp  # the call may be under the same condition
        and not is_passed_over(file, binding.node)
        and not _is_told_apart(file, name, binding.node)
        and not file.names.of_binding(binding).isdisjoint(torch_names.AUTOCAST_GENERIC)
        for binding in file.names.bindings(name.value, name)
    )


def _is_told_apart(file: File, call: cst.Name, bound: cst.CSTNode) -> bool:
    """Whether a call stands under a test of a flag that tells which import has succeeded: `except ImportError: NEW = False`."""
    attempt = file.tree.enclosing(bound, cst.Try)
    around = (each for each in file.tree.ancestors(call) if isinstance(each, (cst.If, cst.IfExp)))
    tests = (each.test for each in around if attempt is not None)
    asked = (name for test in tests for name in (test, *file.tree.inside(test, cst.Name)) if isinstance(name, cst.Name))
    nodes = (each.node for name in asked for each in file.names.bindings(name.value, name))
    return attempt is not None and any(attempt in file.tree.ancestors(node) for node in nodes if node is not None)


def _judge(file: File, call: cst.Call, name: str) -> Finding | None:
    given = keyword(call, "device_type") or next(iter(positionals(call)), None)
    if given is None:
        message = f"`{name}` is called without `device_type`"
        return Finding(file.range(call.func), message, _MISSING, fix=_inserted(file, call, ()) or _UNKNOWN)
    found = kind(file, given.value)
    if found == DEVICE:
        message = f"`{name}` gets a `torch.device` as `device_type`, not a string"
        related = device_elsewhere(file, given.value)
        return Finding(file.range(call.func), message, _NO_STRING, related, _type_of(file, given.value) or _UNKNOWN)
    if found in (DTYPE, FLAG, NUMBER, INDEX):
        message = f"`{name}` gets a {found} as `device_type`, not a string"
        parameter = {DTYPE: "dtype", FLAG: "enabled"}.get(found, "")
        alone = given.keyword is None and len(positionals(call)) == 1 and keyword(call, parameter) is None
        fix = _inserted(file, call, (parameter,)) if parameter and alone else None
        return Finding(file.range(call.func), message, _NO_STRING, fix=fix or _UNKNOWN)
    texts = device_texts(file, given.value)
    if texts is not None and any(text.endswith(":") for text in texts):
        message = f"`{name}` gets a device with an index as `device_type`"
        return Finding(
            file.range(call.func), message, _INDEXED, fix=_without_index(file, given.value, texts) or _UNKNOWN
        )
    if texts is None and (
        names_tensors_device(file, given.value) or any(text.endswith(":") for text in kept_texts(file, given.value))
    ):
        message = f"`{name}` gets a device as `device_type` that may have an index"
        return Finding(file.range(call.func), message, _INDEXED, fix=_type_meant(file, given.value))
    return None


def _inserted(file: File, call: cst.Call, names: tuple[str, ...]) -> Fix | None:
    """Put the device type first, if the file leaves no doubt about it."""
    device = device_in_sight(file, call)
    if device is None:
        return None
    return Fix(f"Add the device type `{device}`", tuple(insert_arguments(file, call, [device], names)))


def _type_of(file: File, value: cst.BaseExpression) -> Fix | None:
    start, end = file.tree.span(value)
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call)):
        return None
    if not file.tree.as_written(value).lpar:
        return Fix("Pass the `type` of the device", (Edit(end, end, ".type"),))
    return Fix("Pass the `type` of the device", (Edit(start, end, f"{file.tree.text(value)}.type"),))


def _without_index(file: File, value: cst.BaseExpression, texts: set[str]) -> Fix | None:
    if in_format_string(file, value):
        return None
    start, end = file.tree.span(value)
    if len(texts) == 1:
        device = quoted(file, next(iter(texts)).rstrip(":"))
        return Fix(f"Replace with `{device}`", (Edit(start, end, device),))
    return _type_meant(file, value)


def _type_meant(file: File, value: cst.BaseExpression) -> Fix:
    """Take the type of a device, without `str` where the value is that of a device."""
    device = stringified(file, value)
    if device is None or kind(file, device) != DEVICE:
        return _type_named(file, value)
    start, end = file.tree.span(value)
    return Fix("Pass the `type` of the device", (Edit(start, end, f"{file.tree.text(device)}.type"),))


def _type_named(file: File, value: cst.BaseExpression) -> Fix:
    """Take the type of the device that a string names."""
    start, end = file.tree.span(value)
    spelling, edits = file.importer.get("torch.device", value)
    wrapped = [Edit(start, start, f"{spelling}("), Edit(end, end, ").type")]
    return Fix(f"Take the `type` of `{spelling}`", file.importer.joined([*edits, *wrapped]))
