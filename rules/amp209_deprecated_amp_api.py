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

import libcst as cst

from amplint.diagnostics import SAFE, Fix, NoFix
from amplint.model.observables import WARNED, Observable
from amplint.model.torch import names as torch_names
from amplint.model.torch.names import Replacement
from amplint.rule import HIGH, INFO, File, Finding, rule

from ._support.deprecated_amp_uses import replacement_of_use
from ._support.version_checks import is_attempt, is_fallback, is_recognised

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
            fix=replacement_of_use(file, node, name) or NoFix("the name is used in a way that may not fit the new one"),
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
                "nothing in this file uses the imported name",
                fix=fix or NoFix("another file may import it from here"),
            )


def _is_hub(file: File) -> bool:
    """Whether a file does nothing but bind names, which is how modules look that exist for others to import from."""
    working = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)
    return not any(isinstance(node, working) for node in ast.walk(file.importer.module))
