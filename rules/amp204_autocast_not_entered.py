"""An autocast region is made, or only named, and never entered.

## What it does
Flags the class `autocast` where an instance belongs, in a `with` statement or as a decorator that is not called; a call
that stands alone as a statement, or before an `and` in a `with` statement, so that its region is dropped; and an
autocast decorator on a class.

## Why it matters
Only an instance is a region, and only `with`, or decorating a function, enters it. The class in a `with` statement
raises `TypeError` (`AttributeError` up to Python 3.10). `@torch.autocast` raises `ValueError`.
`@torch.cuda.amp.autocast` is accepted, and then each call of your function fails or, with an older PyTorch, gives back
a function instead of a result. A call on a line of its own fails at nothing: your model just runs in full precision. A
decorated class gets a wrapped constructor, but no wrapped `forward`, and its name is a function from then on.

## Example
```python
import torch

def predict(model, images):
    model.to("cuda")
    with torch.autocast:
        return model(images)
```

## Use instead
```python
import torch

def predict(model, images):
    model.to("cuda")
    with torch.autocast("cuda"):
        return model(images)
```

## Fix safety
Safe: the class is called where it stands, with the device type if the file leaves no doubt about it. You get no fix for
a call that stands alone, since nobody can tell how far its region was meant to reach, and none for a decorated class.
It is unsafe to enter both sides of an `and`, since what your region comes to change has never run in it.

## Limitations
A region that is assigned and never used is not reported. Calls that a `try` statement or a test expects to fail are
probes.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Edit, Fix, NoFix
from amplint.model.observables import ENTERED, Observable
from amplint.model.torch import names as torch_names
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.call_edits import has_star
from ._support.devices_in_sight import device_in_sight

_EXPECTING = ("raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "suppress")

_UNCLEAR = NoFix("how the region should be made is not clear here")

_IDLE = frozenset({"contextlib.nullcontext", "contextlib.suppress"})


@rule("AMP204", "autocast-not-entered", ERROR, HIGH, "0.1.0", fix=SAFE, observable=Observable(ENTERED))
def check(file: File) -> Iterator[Finding]:
    for item in file.tree.find(cst.WithItem):
        if _is_class(file, item.item):
            given = f"{'may be' if isinstance(item.item, cst.IfExp) else 'is'} given"
            yield Finding(
                file.range(item.item),
                f"`with` {given} `{file.tree.text(_class(file, item.item))}`, which is not called",
                "`with` raises TypeError (AttributeError up to Python 3.10): only a call makes a region",
                fix=_called(file, item.item) or _UNCLEAR,
            )
        if isinstance(item.item, cst.BooleanOperation):
            yield from _joined(file, item.item)
    for decorator in file.tree.find(cst.Decorator):
        yield from _decorating(file, decorator.decorator, file.tree.parent(decorator))
    for statement in file.tree.find(cst.Expr):
        call = statement.value
        if isinstance(call, cst.Call) and file.contexts.only_makes(call) and not _is_probe(file, statement):
            yield Finding(
                file.range(call.func),
                f"`{file.tree.text(call.func)}` makes an autocast region that nothing enters",
                "operations stay in full precision: only `with`, or decorating a function, enters a region",
                fix=NoFix("only you can say what should run in the region"),
            )


def _is_class(file: File, context: cst.BaseExpression) -> bool:
    """Whether an expression names the class of regions, or on some runs a class of contexts that do nothing; of two
    expressions that stand in the statement itself, whether one does."""
    if isinstance(context, cst.IfExp):
        return _is_class(file, context.body) or _is_class(file, context.orelse)
    options = list(_options(file, context, 3))
    makers = [each for each in options if file.contexts.maker(each) is not None]
    return bool(makers) and all(each in makers or file.names.all_in(each, _IDLE) for each in options)


def _class(file: File, context: cst.BaseExpression) -> cst.BaseExpression:
    """The side of a conditional expression that names the class; any other expression itself."""
    if not isinstance(context, cst.IfExp):
        return context
    return _class(file, context.body if _is_class(file, context.body) else context.orelse)


def _options(file: File, context: cst.BaseExpression, depth: int) -> Iterator[cst.BaseExpression]:
    """The expressions of which a run picks one."""
    behind = file.contexts.behind(context) if depth and file.contexts.maker(context) is None else []
    if not behind:
        yield context
    for each in behind:
        yield from _options(file, each, depth - 1)


def _joined(file: File, both: cst.BooleanOperation) -> Iterator[Finding]:
    """`with region and other:` enters the other alone, for a region is true."""
    region = file.contexts.of(both.left) if isinstance(both.left, cst.Call) else None
    if not isinstance(both.operator, cst.And) or not isinstance(both.left, cst.Call):
        return
    if region is None or region.device == "grad":
        return
    start, end = file.tree.span(both.left)[1], file.tree.span(both.right)[0]
    fix = Fix("Replace `and` with a comma", (Edit(start, end, ", "),), UNSAFE)
    yield Finding(
        file.range(both.left.func),
        f"`{file.tree.text(both.left.func)}` makes an autocast region that nothing enters",
        "`and` gives `with` its second operand only: a comma enters both",
        fix=(fix if file.source.text[start:end].strip(" ") == "and" and not file.tree.as_written(both).lpar else None)
        or NoFix("a comment or parentheses are in the way"),
    )


def _decorating(file: File, decorator: cst.BaseExpression, decorated: cst.CSTNode | None) -> Iterator[Finding]:
    uncalled = file.contexts.maker(decorator) is not None
    if uncalled:
        yield Finding(
            file.range(decorator),
            f"`{file.tree.text(decorator)}` decorates a function without being called",
            "the function becomes an argument of `autocast`, and never runs in a region",
            fix=(_called(file, decorator) or _UNCLEAR)
            if isinstance(decorated, cst.FunctionDef)
            else NoFix("the region belongs on the methods that need it"),
        )
    elif isinstance(decorated, cst.ClassDef) and isinstance(decorator, cst.Call):
        if file.contexts.maker(decorator.func) is not None:
            yield Finding(
                file.range(decorator),
                f"Autocast decorates the class `{decorated.name.value}`, so that only its constructor runs in the region",
                "the methods of the class run in full precision, and its name now stands for a function",
                fix=NoFix("the region belongs on the methods that need it"),
            )


def _called(file: File, node: cst.BaseExpression) -> Fix | None:
    """Call what stands there, with a device type where it needs one; None where the device is in doubt."""
    made = file.contexts.maker(node)
    if made is None or not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    device: str | None = ""
    if not made.names <= frozenset(torch_names.AUTOCAST_DEVICE):
        given = has_star(cst.Call(node, made.preset)) or any(
            arg.keyword is None or arg.keyword.value == "device_type" for arg in made.preset
        )
        device = "" if given else device_in_sight(file, node)
    if device is None or len(made.names) > 1 and device:
        return None
    end = file.tree.span(node)[1]
    return Fix(f"Call it: `{file.tree.text(node)}({device})`", (Edit(end, end, f"({device})"),))


def _is_probe(file: File, statement: cst.CSTNode) -> bool:
    """Whether a region is made only to see whether that fails."""
    below = statement
    for above in file.tree.ancestors(statement):
        if isinstance(above, cst.Try) and below is above.body and above.handlers:
            return True
        if isinstance(above, cst.With) and any(_expects_failure(item.item) for item in above.items):
            return True
        if isinstance(above, cst.FunctionDef):
            return False
        below = above
    return False


def _expects_failure(context: cst.BaseExpression) -> bool:
    func = context.func if isinstance(context, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    return isinstance(name, cst.Name) and name.value in _EXPECTING
