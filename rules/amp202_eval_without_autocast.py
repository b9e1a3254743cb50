"""A model is trained under autocast and evaluated without.

## What it does
Flags a forward pass without gradients, in evaluation mode or in a function called after evaluation, outside of any
autocast region, if the training passes of the same model, in the same file or class, run in one. Where both go through
one helper, the call of the evaluation is flagged.

## Why it matters
Your evaluation runs in float32: it takes the time and memory that autocast saves, and if you will use the model in half
precision, it measures another model than that one. The difference is small: 0.05 % of the size of the outputs in
float16, 0.4 % in bfloat16, and the same class for 99.4 % of the inputs. Many evaluate in float32 on purpose, which is
perfectly good; so this rule is off by default.

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

def evaluate(model, loader):
    with torch.no_grad():
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

def evaluate(model, loader):
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        return [model(data) for data, _ in loader]
```

## Fix safety
The fix enters the context of the training pass, if the evaluation can name it. It is unsafe: your metrics change
slightly, and the outputs are half where the code may expect float32. You get no fix where the training enters its
region under an `if`, or asks an attribute that is None before it sets it.

## Limitations
A model is known by its name in the file, or by the attribute of its class, and followed to the calls that hand it over.
That another file calls a function inside a region is not known, nor is an evaluation in another file looked at. Silent
are passes that only warm up, draw samples, take times or make targets for the training step; inputs that are cast by
hand, which are of a half model; and evaluations where `enabled=False`, or a comment that speaks of precision, shows
that somebody has thought of it.

## References
- https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.facts.forward_passes import ForwardPass, Forwards
from amplint.model.observables import EVALUATED, Observable
from amplint.rule import INFO, MEDIUM, MIXED_PRECISION, File, Finding, Statement, rule

from ._support.outside_autocast import may_compute
from ._support.protocol_edits import inside
from ._support.value_readers import is_label

_OTHER_USES = re.compile(
    r"(^|_)(bench\w*|profile\w*|throughput|latency|speed\w*|flops|warm_?up|dummy|smoke|export\w*|onnx|trace|jit|script|sampl\w*|"
    r"generat\w*|visuali[sz]\w*|plot\w*|demo|preview|show|draw|extract\w*|features?|embed\w*|calibrat\w*|rollouts?|collect\w*|"
    r"act|actions?|salien\w*|explain\w*|interpret\w*|occlusion|(grad_?)?cam)(_|$)",
    re.IGNORECASE,
)
"""What functions are called that run a model without gradients, and do not measure how good it is."""
_FULL_PRECISION = re.compile(
    r"fp32|float32|(full|single)[ -]precision|\bamp\b|autocast|mixed[ -]precision", re.IGNORECASE
)
"""What a comment says where somebody has thought of the precision of an evaluation."""


@rule(
    "AMP202",
    "eval-without-autocast",
    INFO,
    MEDIUM,
    "0.1.0",
    fix=UNSAFE,
    default=False,
    keeps=(r"^no_grad$", r"^inference_mode$", r"^eval$"),
    observable=Observable(EVALUATED),
)
def check(file: File) -> Iterator[Finding]:
    if MIXED_PRECISION not in file.says:
        return
    for each, place, training in file.fact(Forwards).unlike_training():
        assert training.entry is not None
        if _is_dropped(file, each.call) or _gets_half(file, each.call) or _is_on_purpose(file, each):
            continue
        forward = file.related("the model runs here", each.call.func) if place is not each.call else ()
        yield Finding(
            file.range(place.func),
            f"`{each.model}` is trained under autocast but evaluated without it",
            "the evaluation takes the time and memory of float32, and measures a slightly different model",
            related=(*file.related("trained in this region", training.entry[1]), *forward),
            fix=_fix(file, each, place, training.entry[1])
            or NoFix("the region of the training cannot be written here"),
        )


def _is_dropped(file: File, call: cst.Call) -> bool:
    """Whether nobody looks at the outputs of a pass, as in one that only warms up."""
    parent = file.tree.parent(call)
    targets = [each.target for each in parent.targets] if isinstance(parent, cst.Assign) else []
    return (
        isinstance(parent, cst.Expr)
        or bool(targets)
        and all(isinstance(target, cst.Name) and target.value == "_" for target in targets)
    )


def _gets_half(file: File, call: cst.Call) -> bool:
    """Whether a pass may get inputs that are cast by hand: then its model is made half, too, and needs no region."""
    names = [node for arg in call.args for node in inside(arg.value) if isinstance(node, cst.Name)]
    values = [bound.value for name in names for bound in file.names.bindings(name.value, name)]
    given = [*(arg.value for arg in call.args), *(value for value in values if value is not None)]
    return any(
        isinstance(node, cst.Attribute) and node.attr.value in ("half", "bfloat16", "float16")
        for value in given
        for node in inside(value)
    )


def _is_on_purpose(file: File, each: ForwardPass) -> bool:
    """Whether an evaluation is meant to run in float32, or is none: a region is switched off around it in so many words, a
    comment speaks of precision, or the functions are named after a benchmark, a sample or the like."""
    if any(region.enabled == "no" and region.device != "grad" for region, _ in each.entries):
        return True
    homes = [file.tree.enclosing(call, cst.FunctionDef) for call in each.chain[: each.evaluates + 1]]
    functions = [home for home in homes if isinstance(home, cst.FunctionDef)]
    if any(_OTHER_USES.search(home.name.value) for home in functions):
        return True
    comments = [comment for home in functions for comment in _comments(file, home)]
    return any(_FULL_PRECISION.search(comment) and not _is_code(comment) for comment in comments)


def _comments(file: File, function: cst.FunctionDef) -> list[str]:
    first, last = (file.source.position(offset).row for offset in file.tree.span(function))
    return [file.source.line(row).partition("#")[2].strip() for row in range(first, last + 1)]


def _is_code(comment: str) -> bool:
    """Whether a comment is a call, or enters something, that somebody left out: that says nothing of why."""
    try:
        parsed = ast.parse(f"{comment} pass" if comment.endswith(":") else comment)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(parsed))


def _fix(file: File, each: ForwardPass, place: cst.Call, context: cst.BaseExpression) -> Fix | None:
    text, title = file.tree.text(context), "Evaluate in the region of the training"
    if (
        "\n" in text
        or any(region.device != "grad" for region, _ in each.entries)
        or not _is_known(file, context, place)
        or _is_conditional(file, context, place)
        or _may_be_none(file, context)
    ):
        return None
    blocks = [above for above in file.tree.ancestors(place) if isinstance(above, cst.With)]
    for block in blocks:
        for item in block.items:
            region = file.contexts.of(item.item)
            if region is not None and region.device == "grad":
                end = file.tree.span(item)[1]
                return Fix(title, (Edit(end, end, f", {text}"),), UNSAFE)
    edit = _wrapped(file, place, text)
    return Fix(title, (edit,), UNSAFE) if edit is not None else None


def _is_conditional(file: File, context: cst.BaseExpression, at: cst.CSTNode) -> bool:
    """Whether the training enters its region only where some `if` says so, which the evaluation does not ask."""
    around = set(file.tree.ancestors(at))
    for above in file.tree.ancestors(context):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.If) and above not in around:
            return True
    return False


def _may_be_none(file: File, context: cst.BaseExpression) -> bool:
    """Whether a context asks something of an attribute of `self` that is None before the training sets it."""
    owner = file.classes.owner(context)
    inner = [node.value for node in inside(context) if isinstance(node, cst.Attribute)]
    return owner is not None and any(
        isinstance(value, cst.Name) and value.value == "None"
        for node in inner
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self"
        for value in owner.values(node.attr.value)
    )


def _wrapped(file: File, call: cst.Call, context: str) -> Edit | None:
    """The statement of a pass under a `with`, with what computes with its outputs in the same block."""
    line = file.editor.statement(call)
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    siblings = list(file.editor.siblings(line))
    last: Statement = line
    for sibling in siblings[siblings.index(line) :]:
        if isinstance(sibling, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and may_compute(file, [sibling]):
            last = sibling
    return file.editor.wrap(file.editor.rows(line)[0], file.editor.rows(last)[1], f"with {context}:")


def _is_known(file: File, context: cst.BaseExpression, at: cst.CSTNode) -> bool:
    """Whether every name in a context means the same where the evaluation runs."""
    names = [name for name in file.tree.find(cst.Name) if context in (name, *file.tree.ancestors(name))]
    for name in names:
        bound = file.is_bound(name.value, at)
        here, there = file.names.bindings(name.value, name), file.names.bindings(name.value, at)
        if name.value == "self":
            same = file.classes.owner(name) is not None and file.classes.owner(name) is file.classes.owner(at)
        else:
            same = bound and bool(here) and [each.node for each in here] == [each.node for each in there]
        if not (is_label(file, name) or same or name.value in ("True", "False", "None")):
            return False
    return True
