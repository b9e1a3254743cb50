"""`binary_cross_entropy` is called inside an autocast region, which refuses it.

## What it does
Flags calls of `torch.nn.functional.binary_cross_entropy`, and of `torch.nn.BCELoss`, inside an enabled region for CUDA
or XPU, float16 and bfloat16 alike.

## Why it matters
Your first batch on the GPU raises
`RuntimeError: torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast`, whatever the dtype
of the input. The reason is the gradient: near a probability of 0 or 1 float16 cannot represent it. The form that takes
logits is allowed, and computes sigmoid and loss at once. CPU autocast runs both in float32, so a test on the CPU does
not show it.

## Example
```python
import torch
from torch.nn import functional as F

def loss_of(model, images, labels):
    with torch.amp.autocast("cuda", dtype=torch.float16):
        logits = model(images)
        return F.binary_cross_entropy(torch.sigmoid(logits), labels)
```

## Use instead
```python
import torch
from torch.nn import functional as F

def loss_of(model, images, labels):
    with torch.amp.autocast("cuda", dtype=torch.float16):
        logits = model(images)
        return F.binary_cross_entropy_with_logits(logits, labels)
```

## Fix safety
Safe where the sigmoid stands in the same function and nothing else reads its result: the form with logits is the same
function. Unsafe where the sigmoid ends a model that the file uses for nothing else, because the model then gives
logits. In all other cases the loss is put into a disabled region, on float32 operands: unsafe, because a probability
that float16 rounded to 0 or 1 stays so. You get no fix where the statement computes something else that needs autocast.

## Limitations
A criterion that is chosen at run time is not known to be this one. Where a constructor chooses it by a text, what is
written out where objects are made decides; a default does not. A function that another file calls inside a region is
judged there: what is called by the name of a parameter is what the project makes under that name. A region around the
loss alone that a parameter of the function switches, off by default, is taken for an island. Where one side of an `if`
about AMP (`if self.fp16:`) switches autocast off, the other side is taken to run without it.

## References
- https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-binary-cross-entropy
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Edit, Fix, NoFix
from amplint.dtypes import Dtypes, Operation, Tensor
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.operators import Policy, policy
from amplint.rule import ERROR, HIGH, File, Finding, rule

from ._support.float32_islands import island
from ._support.float32_operands import innermost
from ._support.value_readers import mentions, only_origin

_NAME = "binary_cross_entropy"
_NOTE = "autocast raises RuntimeError, since float16 cannot hold the gradient near 0 and 1; the form with logits is free of it"
_TITLE = "Replace with the form that takes logits"


@rule(
    "AMP304",
    "bce-under-autocast",
    ERROR,
    HIGH,
    "0.1.0",
    fix=SAFE,
    entered=r"binary_cross_entropy\b|BCELoss\b",
    observable=Observable(NON_FINITE),
)
def check(file: File) -> Iterator[Finding]:
    for operation in file.fact(Dtypes).lowered_where(lambda each: _is_refused(file, each)):
        name = "BCELoss" if operation.layer is not None else _NAME
        message = f"`{name}` is called inside an autocast region"
        yield Finding(
            file.range(operation.node),
            message,
            _NOTE,
            (*file.fact(Dtypes).maker(operation), *file.fact(Dtypes).caller(operation)),
            _with_logits(file, operation) or _alone(file, operation) or NoFix("the logits are not in sight"),
        )


def _is_refused(file: File, operation: Operation) -> bool:
    region = operation.region
    if operation.op != _NAME or region is None or policy(_NAME, region.device) not in (Policy.BANNED, None):
        return False
    return not _is_island_unless_asked(file, operation)


def _is_island_unless_asked(file: File, loss: Operation) -> bool:
    """Whether the loss stands apart from what it reads, in a region that is off by default of the function around."""
    reader, entries = loss.arguments.node(0, "input"), file.contexts.entries(loss.node)
    if not isinstance(reader, cst.Name) or not entries or entries[-1][0].enabled != "maybe":
        return False
    entering = entries[-1][1]
    region = file.tree.enclosing(entering, cst.With)
    made = [binding.node for binding in file.names.bindings(reader.value, reader)]
    if region is None or any(node is None or region in file.tree.ancestors(node) for node in made):
        return False
    switches = [file.contexts.switch(source) for source in file.contexts.sources(entering)]
    return bool(switches) and all(_is_off_by_default(file, switch) for switch in switches)


def _is_off_by_default(file: File, switch: cst.BaseExpression | None) -> bool:
    """Whether a parameter, which is False unless a caller says otherwise, decides."""
    if not isinstance(switch, cst.Name):
        return False
    bindings = file.names.bindings(switch.value, switch)
    param = bindings[0].node if len(bindings) == 1 else None
    default = param.default if isinstance(param, cst.Param) else None
    return isinstance(default, cst.Name) and default.value == "False"


# -- with logits ---------------------------------------------------------------------------------------------------------


def _with_logits(file: File, loss: Operation) -> Fix | None:
    """The form that takes logits, if all that is known of the probabilities is that they are a sigmoid."""
    reader, sigmoid = loss.arguments.node(0, "input"), loss.operand.maker
    called = _renamed(file, loss)
    if reader is None or sigmoid is None or sigmoid.op != "sigmoid" or not called:
        return None
    if file.tree.enclosing(sigmoid.node, cst.FunctionDef) is not file.tree.enclosing(loss.node, cst.FunctionDef):
        return _in_model(file, loss, reader, sigmoid, called)
    if not sigmoid.arguments.nodes:
        return _in_model(file, loss, reader, sigmoid, called)
    origin, logits = only_origin(file, reader), sigmoid.arguments.node(0, "input", "self")
    if origin is None or logits is None or not _holds(file, origin.node, sigmoid.node):
        return None
    text, start = file.tree.text(origin.node), file.tree.span(origin.node)[0]
    first, last = (offset - start for offset in file.tree.span(sigmoid.node))
    edit = Edit(*file.tree.span(reader), text[:first] + _operand_text(file, logits, sigmoid.node) + text[last:])
    return Fix(_TITLE, file.importer.joined([*called, *origin.edits, edit]))


def _in_model(
    file: File, loss: Operation, reader: cst.BaseExpression, sigmoid: Operation, called: list[Edit]
) -> Fix | None:
    """Take the sigmoid out of the model, if the loss is the only one that gets its output."""
    alone = not isinstance(reader, cst.Name) or mentions(file, reader) == 2
    users = file.fact(Dtypes).users(sigmoid.node)
    again = [each for each in file.fact(Dtypes).lowered if each.layer is not None and each.layer is sigmoid.layer]
    if (
        not alone
        or any(each.node not in (loss.node, sigmoid.node) for each in users)
        or any(each.node is not sigmoid.node for each in again)
    ):
        return None
    logits = sigmoid.arguments.node(0, "input", "self")
    if logits is None:
        edits = _without_last_layer(file, sigmoid)
    elif file.tree.enclosing(sigmoid.node, cst.Return) is not None:
        edits = [Edit(*file.tree.span(sigmoid.node), _operand_text(file, logits, sigmoid.node))]
    else:
        edits = []
    return Fix(_TITLE, file.importer.joined([*called, *edits]), UNSAFE) if edits else None


def _without_last_layer(file: File, sigmoid: Operation) -> list[Edit]:
    """Take the last layer out of an `nn.Sequential`."""
    made = sigmoid.layer.node if sigmoid.layer is not None else None
    arg = file.tree.parent(made) if made is not None else None
    whole = file.tree.parent(arg) if arg is not None else None
    if (
        not isinstance(whole, cst.Call)
        or file.path(whole)
        or not file.names.all_in(whole.func, {"torch.nn.Sequential"})
    ):
        return []
    if len(whole.args) < 2 or whole.args[-1] is not arg:
        return []
    start, end = file.tree.span(whole.args[-2])[1], file.tree.span(whole.args[-1])[1]
    return [] if "#" in file.source.text[start:end] else [Edit(start, end, "")]


def _renamed(file: File, loss: Operation) -> list[Edit]:
    """The edits that call the form with logits instead; empty where that is called elsewhere, too."""
    if loss.layer is None:
        function = loss.node.func if isinstance(loss.node, cst.Call) else None
        return _replaced(file, function, "torch.nn.functional.binary_cross_entropy_with_logits")
    others = [
        each for each in file.fact(Dtypes).lowered if each.layer is not None and each.layer.node is loss.layer.node
    ]
    made = loss.layer.node
    if any(each.node is not loss.node for each in others) or not isinstance(made, cst.Call) or file.path(made):
        return []
    if not _is_of_torch(file, made):  # a function of another file makes it
        return []
    return _replaced(file, made.func, "torch.nn.BCEWithLogitsLoss")


def _replaced(file: File, function: cst.BaseExpression | None, qualified: str) -> list[Edit]:
    if isinstance(function, cst.Attribute):
        return [Edit(*file.tree.span(function.attr), qualified.rpartition(".")[2])]
    if not isinstance(function, cst.Name):
        return []
    spelling, edits = file.importer.get(qualified, function)
    return [*edits, Edit(*file.tree.span(function), spelling)]


def _holds(file: File, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    return outer is inner or outer in list(file.tree.ancestors(inner))


def _operand_text(file: File, operand: cst.BaseExpression, call: cst.CSTNode) -> str:
    """An operand in the place of the call that it is given to."""
    simple = isinstance(operand, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    bare = isinstance(file.tree.parent(call), (cst.Arg, cst.Return, cst.Assign))
    text = file.tree.text(operand)
    return text if simple or bare else f"({text})"


# -- apart ---------------------------------------------------------------------------------------------------------------


def _alone(file: File, loss: Operation) -> Fix | NoFix | None:
    """The loss in a disabled region, unless an option may have put a criterion of the author's in its place."""
    called = loss.node.func if isinstance(loss.node, cst.Call) else None
    criteria = list(file.flow.values(called)) if called is not None else []
    if len(criteria) > 1 and not all(_is_of_torch(file, each) for each in criteria):
        return NoFix("another criterion may get the same operands, which need not be tensors")
    return _apart(file, loss)


def _is_of_torch(file: File, criterion: cst.BaseExpression) -> bool:
    """Whether an expression makes an object of torch, or is None."""
    made = criterion.func if isinstance(criterion, cst.Call) else criterion
    none = isinstance(made, cst.Name) and made.value == "None"
    return none or all(name.startswith("torch.") for name in file.names.resolve(made))


def _apart(file: File, loss: Operation) -> Fix | None:
    """The loss in a disabled region, on float32 operands."""
    operands: list[cst.BaseExpression] = []
    for position, name in enumerate(("input", "target")):
        node, value = loss.arguments.node(position, name), loss.arguments.get(position, name)
        if node is None:
            return None
        operands.append(innermost(value, node) if isinstance(value, Tensor) else node)
    device = loss.region.device if loss.region is not None else "?"
    if device == "?":
        return None
    edits = island(file, loss.node, operands, device)
    return Fix("Compute the loss in a disabled region", edits, UNSAFE) if edits else None
