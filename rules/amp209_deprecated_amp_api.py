"""The AMP modules of single devices are deprecated in favour of `torch.amp`.

## What it does
Flags `torch.cuda.amp` (`autocast`, `GradScaler`, `custom_fwd`, `custom_bwd`) and `torch.cpu.amp` (`autocast`,
`GradScaler`), however you import them, if the PyTorch that you target has the replacement: `torch.amp.GradScaler` came
with 2.3, `torch.amp.custom_fwd` and `torch.amp.custom_bwd` with 2.4.

## Why it matters
From PyTorch 2.4 on, every construction emits a `FutureWarning`. Do not follow its advice to the letter for `autocast`:
the old parameters are `(enabled, dtype, cache_enabled)`, the new ones `(device_type, dtype, enabled, cache_enabled)`,
so `torch.cuda.amp.autocast(False)` rewritten to `torch.amp.autocast("cuda", False)` fails with a `TypeError` when the
region is entered.

If you have to support a PyTorch that lacks the new names, set `torch-version` to it, or let the dependencies of your
project admit it, and the rule keeps quiet about them.

## Example
```python
import torch

def evaluate(model, images, use_amp):
    with torch.cuda.amp.autocast(use_amp):
        return model(images)
```

## Use instead
```python
import torch

def evaluate(model, images, use_amp):
    with torch.amp.autocast("cuda", enabled=use_amp):
        return model(images)
```

## Fix safety
Safe: the device becomes the first argument, positional arguments of `autocast` become keywords, and what else the call
says stays. Where the region may stand inside another one, `dtype` is written out, because the old class pins it and the
new one takes over that of the region around it. Imports are added and removed as needed. It is unsafe for a
`functools.partial` that is handed on, since it may be called with positional arguments elsewhere. You get none for
star-arguments, subclasses, stored classes, and imports that a `try` may replace.

## Limitations
Code that tries `torch.amp` first, and code behind a test of the version that the newest PyTorch does not pass, is taken
for a deliberate fallback. A name that a module of the project hands on is reported there. A class that is only compared
with, or listed beside the new one, is there to be recognised. Mentions in strings are not looked at.

## References
- https://docs.pytorch.org/docs/stable/amp.html
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Applicability, Edit, Fix, NoFix
from amplint.model.observables import WARNED, Observable
from amplint.model.torch import names as torch_names
from amplint.model.torch.names import Replacement
from amplint.rule import HIGH, INFO, File, Finding, rule

from ._support.call_edits import has_star, in_format_string, insert_arguments, quoted
from ._support.nested_regions import may_be_nested
from ._support.version_checks import expects_absence, is_attempt, is_fallback, is_recognised

_DEPRECATED = frozenset(torch_names.DEPRECATED) | torch_names.DEPRECATED_MODULES
_SINCE = "{}.{}".format(*torch_names.DEPRECATED_SINCE)


@rule("AMP209", "deprecated-amp-api", INFO, HIGH, "0.1.0", fix=SAFE, observable=Observable(WARNED))
def check(file: File) -> Iterator[Finding]:
    old = {name: new for name, new in torch_names.DEPRECATED.items() if file.torch >= new.since}
    for node in file.names.references(old):
        source = file.importer.import_of(node)
        if source is not None and not file.importer.imported(source).startswith("torch"):
            continue  # whoever hands it on is told
        if is_fallback(file, node) or is_recognised(file, node) or source is not None and _is_choice(file, source):
            continue
        [name] = file.names.resolve(node)
        yield Finding(
            file.range(node),
            _message(name),
            _note(old[name], _runs(file, node)),
            fix=_fix(file, node, name) or NoFix("the name is used in a way that may not fit the new one"),
        )
    yield from _imports(file, old)


def _message(name: str) -> str:
    if name in torch_names.DEPRECATED_MODULES:
        return f"What `{name}` offers is deprecated since PyTorch {_SINCE}"
    return f"`{name}` is deprecated since PyTorch {_SINCE}"


def _note(new: Replacement, runs: bool = False) -> str:
    """When it warns, and what to mind; `runs` says that the place constructs an object, or decorates a function."""
    if new.name.endswith((".autocast", ".GradScaler")):
        when = "every construction warns" if runs else "PyTorch warns at each construction, not here"
    else:
        when = "every decoration warns" if runs else "PyTorch warns when it decorates a function, not here"
    return f"{when}; {_mind(new.name)}"


def _mind(name: str) -> str:
    """What is different about a replacement."""
    if name.endswith(".autocast"):
        return f"`{name}` takes its parameters in another order"
    return (
        f"`{name}` takes the device first"
        if name.endswith(".GradScaler")
        else f"`{name}` needs the keyword `device_type`"
    )


def _runs(file: File, node: cst.CSTNode) -> bool:
    """Whether a name is called, or decorates, where it stands."""
    parent = file.tree.parent(node)
    return isinstance(parent, cst.Decorator) or (isinstance(parent, cst.Call) and parent.func is node)


def _is_choice(file: File, source: cst.ImportAlias) -> bool:
    """Whether an import is deliberately one of several, or is reported itself because a `try` tries it first."""
    if is_fallback(file, source):
        return True
    return file.importer.imported(source) in _DEPRECATED and is_attempt(file, source)


# -- imports ----------------------------------------------------------------------------------------------------------


def _imports(file: File, old: dict[str, Replacement]) -> Iterator[Finding]:
    """An import is reported itself when nothing else names it, or when a `try` makes it one choice of several."""
    stars = [each for each in file.tree.find(cst.ImportFrom) if isinstance(each.names, cst.ImportStar)]
    everything: list[cst.ImportAlias | cst.ImportFrom] = [*file.tree.find(cst.ImportAlias), *stars]
    for what in everything:
        name = file.importer.imported(what)
        if name not in old and name not in torch_names.DEPRECATED_MODULES or is_fallback(file, what):
            continue
        if name in old and is_attempt(file, what):
            yield Finding(
                file.range(what), _message(name), _note(old[name]), fix=NoFix("the import is one choice of several")
            )
        elif file.importer.is_unused(what):
            edits = () if _is_hub(file) else file.importer.remove(what)
            fix = Fix("Remove the import", edits) if edits else None
            yield Finding(
                file.range(what),
                _message(name),
                "nothing in this file uses it",
                fix=fix or NoFix("another file may import it from here"),
            )


def _is_hub(file: File) -> bool:
    """Whether a file does nothing but bind names, which is how modules look that exist for others to import from."""
    working = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)
    return not any(isinstance(node, working) for node in ast.walk(file.importer.module))


# -- uses -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rewrite:
    """What becomes of the place around a deprecated name: edits, what is put behind the name, and how to call it."""

    title: str
    edits: tuple[Edit, ...] = ()
    suffix: str = ""
    applicability: Applicability = SAFE


def _fix(file: File, node: cst.Name | cst.Attribute, name: str) -> Fix | None:
    if in_format_string(file, node) or expects_absence(file, node):
        return None
    new = torch_names.DEPRECATED[name]
    rewrite = _rewrite(file, node, new)
    spelling, edits = file.importer.get(new.name, node)
    if rewrite is None or edits and file.importer.is_conditional(node):
        return None
    source = file.importer.import_of(node)
    if (
        source is not None
        and file.importer.is_last_use(source)
        and spelling.partition(".")[0] != file.importer.local_name(source)
    ):
        edits = (*edits, *file.importer.remove(source))
    renamed = Edit(*file.tree.span(node), spelling + rewrite.suffix)
    return Fix(
        f"Replace with `{rewrite.title}`",
        file.importer.joined([*edits, renamed, *rewrite.edits]),
        rewrite.applicability,
    )


def _rewrite(file: File, node: cst.Name | cst.Attribute, new: Replacement) -> _Rewrite | None:
    parent = file.tree.parent(node)
    if isinstance(parent, cst.Call):
        return _called(file, parent, new)
    if isinstance(parent, cst.Decorator) and new.new[0] not in _DEVICE:
        title = f"{new.name}({_device(file, new)})"
        return _Rewrite(title, suffix=title[len(new.name) :])
    call = file.tree.parent(parent) if isinstance(parent, cst.Arg) else None
    if isinstance(call, cst.Call) and call.args[0] is parent and file.names.all_in(call.func, {"functools.partial"}):
        return _called(file, call, new, skip=1)
    return _Rewrite(new.name) if _is_type(file, node) else None


def _is_type(file: File, node: cst.CSTNode) -> bool:
    """Whether a class is named as a type only; the new class is a base of the old one, so that both are instances of it."""
    around = file.tree.enclosing(node, cst.Annotation, cst.Call, cst.Lambda)
    if isinstance(around, cst.Call):
        return file.names.all_in(around.func, {"builtins.isinstance"}) and around.func is not node
    return isinstance(around, cst.Annotation)


# -- calls ------------------------------------------------------------------------------------------------------------

_DEVICE = ("device_type", "device")


def _device(file: File, new: Replacement) -> str:
    device = quoted(file, new.device)
    return device if new.new[0] in _DEVICE else f"device_type={device}"


def _called(file: File, call: cst.Call, new: Replacement, skip: int = 0) -> _Rewrite | None:
    """A call of the deprecated name, or of `functools.partial` with it as the first of `skip` other arguments."""
    args, device = call.args[skip:], _device(file, new)
    given = [arg for arg in args if arg.keyword is None]
    keywords = {arg.keyword.value for arg in args if arg.keyword is not None}
    if has_star(call) or len(given) > len(new.old) or keywords - {*new.old[len(given) :], *new.keywords}:
        return None  # it is no valid call of the old name, or nobody knows what it says
    if new.new[0] not in _DEVICE:
        edits = insert_arguments(file, call, [device], (), skip + len(given))
        return _Rewrite(f"{new.name}({device})", tuple(edits))
    if new.name in torch_names.AUTOCAST_GENERIC and given and _is_no_flag(file, given[0].value):
        return None
    names = ["" if new.new[1 : place + 2] == new.old[: place + 1] else name for place, name in enumerate(new.old)]
    pinned, more = _pinned(file, call, new, {*new.old[: len(given)], *keywords})
    edits = [*insert_arguments(file, call, [device, *pinned], names, skip), *more]
    plain = not skip or new.name not in torch_names.AUTOCAST_GENERIC or _is_called_plainly(file, call)
    return _Rewrite(f"{new.name}({device})", tuple(edits), applicability=SAFE if plain else UNSAFE)


def _is_no_flag(file: File, value: cst.BaseExpression) -> bool:
    """Whether a first argument was surely not meant as `enabled`."""
    return isinstance(value, (cst.SimpleString, cst.FormattedString)) or any(
        name.startswith("torch.") for name in file.names.resolve(value)
    )


def _pinned(file: File, call: cst.Call, new: Replacement, given: set[str]) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The `dtype` that the old `autocast` has by default, where the new one could take over that of a region around it."""
    if new.name not in torch_names.AUTOCAST_GENERIC or "dtype" in given or not may_be_nested(file, call):
        return (), ()
    flags = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "enabled"]
    if any(isinstance(flag, cst.Name) and flag.value == "False" for flag in flags):
        return (), ()
    spelling, edits = file.importer.get("torch.float16" if new.device == "cuda" else "torch.bfloat16", call.func)
    return (f"dtype={spelling}",), edits


def _is_called_plainly(file: File, partial: cst.Call) -> bool:
    """Whether what a `functools.partial` gives is kept under a name that the file only calls without positional arguments."""
    assign = file.tree.parent(partial)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return False
    name = file.tree.text(assign.targets[0].target).rpartition(".")[2]
    uses = calls = 0
    for node in ast.walk(file.importer.module):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            uses += name == (node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.Call) and not node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
            calls += name == (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
    return uses == calls
