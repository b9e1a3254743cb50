"""A loss is computed outside of autocast, on outputs that left the region in half precision.

## What it does
Flags torch's loss functions outside of any enabled region if a layer inside a region has made their inputs half, so
that the loss itself is computed in half. Of a loss that is made of log-probabilities, as in distillation, it flags the
`log_softmax`.

## Why it matters
Inside the region autocast would run the loss in float32. Outside, its inputs decide: your cross entropy of 13.8795
comes out as 13.875 in float16, and the squared error of two float16 tensors that differ by 300 is infinite instead of
90000. The gradients start from there. Nothing is raised. In an evaluation no gradient flows, and it is the figure that you
report, and choose the best epoch by, that is rounded to two or three digits.

## Example
```python
import torch
import torch.nn.functional as F
from torch import nn

def train(loader, optimizer, scaler):
    model = nn.Linear(64, 10).cuda()
    for x, y in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            logits = model(x)
        loss = F.cross_entropy(logits, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Use instead
```python
import torch
import torch.nn.functional as F
from torch import nn

def train(loader, optimizer, scaler):
    model = nn.Linear(64, 10).cuda()
    for x, y in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            logits = model(x)
        loss = F.cross_entropy(logits.float(), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

## Fix safety
Safe: `.float()` on the outputs gives the loss that the region would have given. Unsafe where the model comes from
elsewhere, so that its outputs are only likely to be half.

## Limitations
A float32 target widens a difference, so `mse_loss` and its relatives are reported only where both sides are half. It
widens a binary cross entropy, too, but not the gradient of its float16 logits, which is scaled before the mean divides
it: a scale of 65536 times a difference of nearly 1 is infinite there. That is reported if the file scales gradients.
A criterion that nobody can be seen to make is not judged; what other files give a function, or make for it, is seen
where they all make the same loss of PyTorch. In a criterion of another file only classification is judged: what goes
into a cross entropy, or is made log-probabilities, left a layer, what goes into other losses may be anything.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-autocast-to-float32
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix, NoFix
from amplint.dtypes import LOG_PROBABILITIES, Dtypes, Operation, Tensor
from amplint.model.observables import VALUE_ERROR, Observable
from amplint.model.torch.operators import Kind, of_kind
from amplint.model.torch.precision import ANY_HALF, BFLOAT16, EITHER_HALF, FLOAT16
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.call_edits import keyword
from ._support.float32_operands import widened

_LOSSES = of_kind(Kind.LOSS)
_CLASSIFIES = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})
"""What is given to them left a linear layer or a convolution, also where the model is not known; as with log-probabilities."""
_NO_LOGITS = re.compile(r"att(e)?n|align|prob|dist|energy", re.IGNORECASE)
"""A word of what did not leave a layer last: distances are float32 in a region."""
_NOT_CAST = NoFix("the operands of the loss cannot be cast in this place")
_DIGITS = {FLOAT16: "three", BFLOAT16: "two", EITHER_HALF: "two or three"}
"""The decimal digits that a dtype keeps: its significand has 11 or 8 bits."""


@rule(
    "AMP211",
    "loss-outside-autocast",
    WARNING,
    HIGH,
    "0.1.0",
    fix=SAFE,
    entered=r"cross_entropy\b|CrossEntropyLoss\b|with_logits\b|WithLogitsLoss\b|log_softmax\b|LogSoftmax\b",
    observable=Observable(VALUE_ERROR),
)
def check(file: File) -> Iterator[Finding]:
    flow = file.fact(Dtypes)
    for operation in flow.lowered_where(lambda each: _begins_in_half(file, each) or _runs_in_half(file, each)):
        dtype = "half precision" if operation.dtype == EITHER_HALF else operation.dtype
        yield Finding(
            file.range(operation.node),
            f"The loss is computed in {dtype}, outside the autocast region",
            _note(operation),
            flow.origin(operation, operation.operand, dtype),
            _fix(file, operation) or _NOT_CAST,
        )
    for operation in flow.lowered_where(lambda each: _is_scaled_in_half(file, each)):
        yield Finding(
            file.range(operation.node),
            "The loss takes float16 logits, outside the autocast region",
            "its gradient is scaled in float16 before the mean divides it: at a scale of 65536 it is infinite for logits far off",
            flow.origin(operation, operation.operand, FLOAT16),
            _fix(file, operation) or _NOT_CAST,
        )


def _note(operation: Operation) -> str:
    note = "autocast runs losses in float32; outside the region they run in the dtype of the model's outputs"
    if operation.differentiates:
        return note
    return f"{note}; no gradient flows here, but the loss that is reported keeps {_DIGITS[operation.dtype]} digits"


def _runs_in_half(file: File, operation: Operation) -> bool:
    """Whether a loss function runs in half, and what it is given is not what the loss begins with."""
    if operation.op not in _LOSSES or not _is_half_outside(operation):
        return False
    outputs = [value for _, value in _outputs(operation)]
    if any(value.maker is not None and _begins_in_half(file, value.maker) for value in outputs):
        return False
    return operation.op in _CLASSIFIES or all(value.sure for value in outputs)


def _begins_in_half(file: File, operation: Operation) -> bool:
    """Whether the log-probabilities that a loss is made of are computed in half."""
    learned = operation.op in LOG_PROBABILITIES and file.fact(Dtypes).is_learned_from(operation)
    if not learned or not _is_half_outside(operation):
        return False
    outputs = _outputs(operation)
    named = (word for node, _ in outputs if node is not None for word in file.tree.words(node))
    return all(value.sure for _, value in outputs) or not any(map(_NO_LOGITS.search, named))


def _is_scaled_in_half(file: File, operation: Operation) -> bool:
    """Whether the mean of a binary cross entropy is float32, as its targets are, and its gradient float16, as the logits are."""
    logits = operation.arguments.get(0, "input")
    made = operation.layer.node if operation.layer is not None else operation.node
    means = not isinstance(made, cst.Call) or keyword(made, "reduction") is None
    return (
        operation.op == "binary_cross_entropy_with_logits"
        and operation.region is None
        and operation.differentiates
        and operation.dtype not in ANY_HALF
        and isinstance(logits, Tensor)
        and logits.dtype == FLOAT16
        and not logits.detached
        and means
        and any(file.roles.of(each).role == "scaler" for each in file.tree.find(cst.Name))
    )


def _is_half_outside(operation: Operation) -> bool:
    """Whether an operation runs in half because its operands are, and not in any region."""
    return operation.region is None and operation.dtype in ANY_HALF and bool(_outputs(operation))


def _outputs(operation: Operation) -> list[tuple[cst.BaseExpression | None, Tensor]]:
    """The half operands of a loss, with their expressions."""
    arguments = operation.arguments
    found = [*zip(arguments.nodes, arguments.values)]
    found += [(arguments.keyword_nodes.get(name), value) for name, value in arguments.keywords.items()]
    return [(node, value) for node, value in found if isinstance(value, Tensor) and value.dtype in ANY_HALF]


def _fix(file: File, operation: Operation) -> Fix | None:
    outputs = _outputs(operation)
    nodes = [node for node, _ in outputs if node is not None]
    if len(nodes) < len(outputs):
        return None
    sure = all(value.sure for _, value in outputs)
    return widened(file, nodes, SAFE if sure else UNSAFE)
