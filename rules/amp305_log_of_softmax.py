"""The logarithm of a softmax, of a sigmoid, or of a sum of exponentials is spelled out.

## What it does
Flags `log(softmax(x))`, `log(sigmoid(x))` and `log(sum(exp(x)))` under autocast, and on what autocast left in half.

## Why it matters
Each of the two steps runs out of range where the whole does not:

- CUDA's autocast runs `softmax` in float32; it is 0 where a logit lies 103.9 below the largest one, and the logarithm
  is -inf there;
- a sigmoid stays in float16; it is exactly 0 below -17.34, and the float16 gradient of the logarithm is infinite from
  -11.09 on, where that of `logsigmoid` is 1; in bfloat16 a sigmoid is exactly 1 from 6.24 on;
- `exp` overflows in float32 above 88.72, in float16 above 11.09.

`log_softmax`, `logsigmoid` and `logsumexp` compute the same at once, without the step that overflows.

## Example
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def log_probs(x, weight):
    logits = nn.functional.linear(x, weight)
    return torch.log(torch.softmax(logits, dim=-1))
```

## Use instead
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def log_probs(x, weight):
    logits = nn.functional.linear(x, weight)
    return torch.log_softmax(logits, dim=-1)
```

## Fix safety
Safe: the fused form is the same function, over the same dimension. You get no fix where the dimension is not written
out, where what is in between is used elsewhere too, or where its own statement carries a comment.

## Limitations
Only what one function does is looked at: a model that ends in a softmax may be used for more than the logarithm. An
epsilon or a bound in between makes it another function; `exp-log-in-loss` (AMP301) and `eps-underflow` (AMP302) look at
those. The softmax of logits that are divided by a temperature of 10 or more does not vanish, and is silent. Without
autocast the two steps are a matter of full precision, and not reported.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
- https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.dtypes import Dtypes, Number, Operation, Tensor
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import FLOAT16, FLOAT32, HALF, LIMITS, UNKNOWN
from amplint.rule import HIGH, WARNING, File, Finding, rule

from ._support.value_readers import only_origin

_FUSED = {
    "softmax": "torch.log_softmax",
    "sigmoid": "torch.nn.functional.logsigmoid",
    "sum": "torch.logsumexp",
}
_NAMES = {"softmax": "a softmax", "sigmoid": "a sigmoid", "sum": "a sum of exponentials"}
_DIMENSIONS = frozenset({"dim", "axis", "keepdim"})
_FARTHEST = 1000.0
"""As far apart as no two logits of a net lie."""


@rule(
    "AMP305", "log-of-softmax", WARNING, HIGH, "0.1.0", fix=SAFE, entered=r"\blog\(", observable=Observable(NON_FINITE)
)
def check(file: File) -> Iterator[Finding]:
    seen: set[cst.CSTNode] = set()
    for operation in file.fact(Dtypes).lowered:
        inner = _inner(file, operation) if operation.op == "log" and not operation.in_place else None
        if inner is None or operation.node in seen or not _matters(inner):
            continue
        seen.add(operation.node)
        fused = _FUSED[inner.op].rpartition(".")[2]
        message = f"The logarithm of {_NAMES[inner.op]} takes two steps, where `{fused}` takes one"
        related = (*file.related("computed here", inner.node), *file.fact(Dtypes).caller(operation))
        yield Finding(
            file.range(operation.node),
            message,
            _why(inner),
            related,
            _fix(file, operation, inner),
        )


def _inner(file: File, log: Operation) -> Operation | None:
    """The operation that made the operand of a logarithm, if one of the same function did."""
    inner = log.operand.maker
    if inner is None or inner.op not in _FUSED or inner.in_place or not inner.arguments.nodes:
        return None
    together = file.tree.enclosing(inner.node, cst.FunctionDef) is file.tree.enclosing(log.node, cst.FunctionDef)
    return inner if together and isinstance(inner.node, cst.Call) else None


def _matters(inner: Operation) -> bool:
    """Whether the code is one of mixed precision, and the operand may reach the values that break it."""
    if not (inner.region is not None and inner.region.lowers) and not inner.operand.half:
        return False
    operand = inner.operand
    half = inner.dtype == FLOAT16
    if inner.op == "softmax":
        gap = -LIMITS[FLOAT16].sigmoid_zero if half else 103.9
        return gap < operand.high - operand.low and gap * _temperature(operand) < _FARTHEST
    if inner.op == "sigmoid":
        return inner.dtype in HALF and operand.low < -LIMITS[FLOAT16].exp_overflow
    exp = operand.maker
    if exp is None or exp.op != "exp" or exp.in_place or exp.operand.dtype == UNKNOWN:
        return False  # what is not known may well have lost its maximum
    return exp.operand.high > LIMITS[FLOAT16 if exp.dtype == FLOAT16 else FLOAT32].exp_overflow


def _temperature(operand: Tensor) -> float:
    """The number that logits are divided by; 1 where none is known."""
    made = operand.maker
    number = made.arguments.get(1, "other") if made is not None and made.op in ("div", "mul") else None
    if made is None or not isinstance(number, Number) or not number.value:
        return 1.0
    return number.value if made.op == "div" else 1 / number.value


def _why(inner: Operation) -> str:
    half = inner.dtype == FLOAT16
    if inner.op == "softmax":
        gap = "17.3" if half else "103.9"
        return f"the softmax is 0 where a logit lies {gap} below the largest, and its logarithm -inf"
    if inner.op == "sigmoid":
        if half:
            return (
                "in float16 the sigmoid is 0 below -17.34, and the gradient of its logarithm is infinite below -11.09; "
                "`logsigmoid` has neither problem"
            )
        return "in bfloat16 the sigmoid is exactly 1 above 6.24, where its logarithm and the gradient are 0"
    exp = inner.operand.maker
    limit = LIMITS[FLOAT16 if exp is not None and exp.dtype == FLOAT16 else FLOAT32].exp_overflow
    return f"`exp` overflows above {limit:.2f} here; `logsumexp` does not"


# -- fixing --------------------------------------------------------------------------------------------------------------


def _fix(file: File, log: Operation, inner: Operation) -> Fix | NoFix:
    reader = log.arguments.node(0, "input", "self")
    origin = only_origin(file, reader) if reader is not None else None
    if origin is None or origin.node is not inner.node:
        named = isinstance(reader, cst.Name)
        return NoFix(
            "what is between the two steps may be used elsewhere" if named else "the steps are not one expression"
        )
    if "#" in file.tree.text(log.node):
        return NoFix("a comment stands between the two steps")
    arguments = _arguments(file, inner)
    if arguments is None:
        return NoFix("the dimension is not written out here")
    fused = _FUSED[inner.op]
    method = _as_method(file, inner)
    spelling, edits = (method, ()) if method else file.importer.get(fused, log.node)
    start, end = file.tree.span(log.node)
    edit = Edit(start, end, f"{spelling}({arguments})")
    return Fix(f"Replace with `{fused.rpartition('.')[2]}`", file.importer.joined([*edits, *origin.edits, edit]))


def _as_method(file: File, inner: Operation) -> str:
    """`x.log_softmax` for `x.softmax`, `F.log_softmax` for `F.softmax`; empty for other spellings."""
    call = inner.node
    if inner.op != "softmax" or inner.layer is not None or not isinstance(call, cst.Call):
        return ""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "softmax":
        return ""
    start, end = file.tree.span(call)[0], file.tree.span(call.func.attr)[0]
    return file.source.text[start:end] + "log_softmax"


def _arguments(file: File, inner: Operation) -> str | None:
    """What the fused form is given; None where that is not clear."""
    operand = inner.arguments.node(0, "input", "self")
    call = inner.node
    if operand is None or not isinstance(call, cst.Call):
        return None
    if inner.op == "sigmoid":
        return file.tree.text(operand)
    if inner.layer is not None:
        dimension = _dimension(file, inner)
        return f"{file.tree.text(operand)}, dim={dimension}" if dimension else None
    if inner.op == "softmax":
        explicit = inner.arguments.node(1, "dim") is not None
        named = _as_method(file, inner) or not isinstance(call.func, cst.Attribute)
        return _texts(file, call.args) if explicit and named else None
    return _of_sum(file, inner, call)


def _of_sum(file: File, inner: Operation, call: cst.Call) -> str | None:
    summed = inner.arguments.node(0, "input", "self")
    exp = inner.operand.maker
    exponent = exp.arguments.node(0, "input", "self") if exp is not None else None
    if exp is None or exp.node is not summed or exponent is None:
        return None
    rest = [arg for arg in call.args if arg.value is not summed]
    named = {arg.keyword.value for arg in rest if arg.keyword is not None}
    if not rest or not named <= _DIMENSIONS or (rest[0].keyword is not None and not named & {"dim", "axis"}):
        return None
    return f"{file.tree.text(exponent)}, {_texts(file, rest)}".replace("axis=", "dim=")


def _texts(file: File, args: Sequence[cst.Arg]) -> str:
    if not args:
        return ""
    return file.source.text[file.tree.span(args[0])[0] : file.tree.span(args[-1])[1]]


def _dimension(file: File, inner: Operation) -> str:
    """The dimension that a module of `torch.nn` was made with, where it is a number."""
    made = inner.layer.node if inner.layer is not None else None
    if not isinstance(made, cst.Call) or len(made.args) != 1:
        return ""
    value = made.args[0].value
    number = value.expression if isinstance(value, cst.UnaryOperation) else value
    return file.tree.text(value) if isinstance(number, cst.Integer) else ""
