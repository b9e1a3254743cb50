"""One model runs in float16 in one autocast region and in bfloat16 in another.

## What it does
Flags a region in which a model runs in the other half precision than in the region that it is trained in, if neither is
chosen by the hardware or by an option.

## Why it matters
The two fail in different ways: float16 ends at 65504; bfloat16 has the range of float32, and an eighth of float16's
precision. A model that you trained in one may overflow, or lose accuracy, in the other, and a `GradScaler` that one of
them needs is of no use to the other. Nothing is raised. Most often it is a leftover of a switch from one to the other.

## Example
```python
import torch

def train(model, criterion, loader, optimizer):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()

@torch.no_grad()
def evaluate(model, loader):
    with torch.autocast("cuda", dtype=torch.float16):
        return [model(data) for data, _ in loader]
```

## Use instead
```python
import torch

def train(model, criterion, loader, optimizer):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()

@torch.no_grad()
def evaluate(model, loader):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return [model(data) for data, _ in loader]
```

## Fix safety
There is no fix: only you know which of the two you meant.

## Limitations
A model is known by its name in the file, or by the attribute of its class. Regions under a condition, or with a
switch, that speaks of precision or hardware, and functions that are named after a precision, count as choices.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.facts.forward_passes import ForwardPass, Forwards
from amplint.model import vocabulary
from amplint.rule import MEDIUM, WARNING, File, Finding, rule

_HALF = ("float16", "bfloat16")
_CHOICE = (vocabulary.PRECISION_CHOICE, vocabulary.HARDWARE)
"""What conditions and names say that choose a region; around calls only the first counts, as `gpu == 0` asks for a rank there."""
_MAX_CALLERS = 2
"""From a region to the function that is called for it, and to the function that calls that one."""


@rule("AMP203", "mixed-autocast-dtypes", WARNING, MEDIUM, "0.1.0")
def check(file: File) -> Iterator[Finding]:
    if "bfloat16" not in file.source.text:
        return  # there is one half precision only
    seen: set[cst.CSTNode] = set()
    for each in file.fact(Forwards).passes:
        home = next((other for other in file.fact(Forwards).of_training(each) if _dtype(file, other)), None)
        if home is None or home.entry is None or each.entry is None or _dtype(file, each) in ("", _dtype(file, home)):
            continue
        odd, usual = each.entry[1], home.entry[1]
        if "?" not in (devices := {each.entry[0].device, home.entry[0].device}) and len(devices) > 1:
            continue  # each kind of hardware has its own
        if (
            odd in seen
            or _is_switched(file, odd, usual)
            or _is_chosen(file, odd, usual)
            or _is_chosen(file, usual, odd)
        ):
            continue
        seen.add(odd)
        yield Finding(
            file.range(odd),
            f"`{each.model}` runs in {_dtype(file, each)} here, but is trained in {_dtype(file, home)}",
            "the two differ in range and precision: a value that one can hold may overflow or be rounded in the other",
            related=file.related(f"trained in {_dtype(file, home)} here", usual),
            fix=NoFix("only you can say which of the two dtypes is meant"),
        )


def _dtype(file: File, each: ForwardPass) -> str:
    """The half precision that a pass runs in, if its region is switched on."""
    if each.entry is None or each.entry[0].dtype not in _HALF:
        return ""
    region, entering = each.entry
    return region.dtype if region.enabled == "yes" or len(_switches(file, entering)) == 1 else ""


def _switches(file: File, region: cst.BaseExpression) -> list[str]:
    """What the constructions of a region are given as `enabled`."""
    given = (file.contexts.switch(source) for source in file.contexts.sources(region))
    return [file.tree.text(each) for each in given if each is not None]


def _is_switched(file: File, region: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Whether switches decide which of two regions is entered: two of their own, or one for a precision."""
    one, two = _switches(file, region), _switches(file, other)
    said = vocabulary.PRECISION_CHOICE if one and two else vocabulary.PRECISION
    return one != two and any(map(said.search, (*one, *two)))


def _is_chosen(file: File, region: cst.CSTNode, other: cst.CSTNode, callers: int = _MAX_CALLERS) -> bool:
    """Whether something decides that this region is entered and not the other one, around it or around calls that lead to it."""
    said = _CHOICE if callers == _MAX_CALLERS else _CHOICE[:1]
    return _is_chosen_here(file, region, other, said) or _is_chosen_by_callers(file, region, other, callers)


def _is_chosen_by_callers(file: File, region: cst.CSTNode, other: cst.CSTNode, callers: int) -> bool:
    led = _led_to(file, region) if callers else []
    others = [other, *_led_to(file, other)]
    return bool(led) and all(any(_is_chosen(file, each, one, callers - 1) for one in others) for each in led)


def _led_to(file: File, node: cst.CSTNode) -> list[cst.Call]:
    """The calls in sight of the function that a node stands in."""
    home = file.tree.function(node)
    return file.flow.calls_of(home) if isinstance(home, cst.FunctionDef) else []


def _is_chosen_here(file: File, region: cst.CSTNode, other: cst.CSTNode, said: tuple[re.Pattern[str], ...]) -> bool:
    below, around = region, [other, *file.tree.ancestors(other)]
    for above in file.tree.ancestors(region):
        if isinstance(above, cst.If) and below not in around:
            if above in around or _says(said, file.tree.text(above.test)):
                return True
        elif isinstance(above, (cst.IfExp, cst.Match)) and below not in around:
            return True
        elif isinstance(above, cst.Try) and below not in around and above in around:
            return True
        elif isinstance(above, (cst.FunctionDef, cst.ClassDef)) and _says(said, above.name.value):
            return True
        below = above
    return False


def _says(said: tuple[re.Pattern[str], ...], text: str) -> bool:
    return any(each.search(text) for each in said)
