"""A constant beyond the range of float16 is filled into a float16 tensor, added to it, or clamped on it.

## What it does
Flags constants beyond 65504, the largest float16, that meet a tensor computed in float16: `masked_fill(mask, -1e9)`,
`torch.where(mask, x, -1e9)`, `clamp(max=1e6)`, `x[mask] = -1e9`, `full_like(x, -1e9)`, `x + 1e9`, a float16 mask that
is multiplied with such a constant, and a mask of any dtype if the product is added in place: `x += mask * -1e9`.

## Why it matters
`masked_fill`, `fill_`, `full`, `clamp` and `pad` stop your run with
`RuntimeError: value cannot be converted to type c10::Half without overflow` (`at::Half` in older wheels); so does
`x[mask] = -1e9` on CUDA. `where` and arithmetic make it -inf instead: if everything in a row is masked, its softmax is
nan, where in float32 it was uniform.

In bfloat16 -1e9 is fine, `float("-inf")` fits into every dtype, and comparisons with such a constant are fine anywhere;
all of these are silent.

## Example
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def attention(x, mask, weight):
    scores = nn.functional.linear(x, weight)
    return scores.masked_fill(mask, -1e9).softmax(dim=-1)
```

## Use instead
```python
import torch
from torch import nn

@torch.autocast("cuda", dtype=torch.float16)
def attention(x, mask, weight):
    scores = nn.functional.linear(x, weight)
    return scores.masked_fill(mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
```

## Fix safety
Safe: the smallest, or largest, number of the tensor's own dtype does what your constant was meant to do, in every
precision. You get no fix where the tensor has no name, where the file compares with the constant later on, and for
masks that are added: two of them would still add up to -inf.

## Limitations
A tensor is taken for float16 only where the file shows it, or where another file enters the region in which it is
computed. Where nobody can be seen to call the code (a registry, a configuration), it is enough that the project trains
under float16 autocast and that the same function computes the tensor by a layer or a matrix product. It is not enough
where imports connect the file with a script that trains without AMP, and with none that uses it.

## References
- https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix, NoFix
from amplint.dtypes import ConstantEffect, ConstantUse, Dtypes
from amplint.model.literals import constant_text
from amplint.model.observables import NON_FINITE, Observable
from amplint.model.torch.precision import FLOAT16, LIMITS
from amplint.rule import ERROR, FLOAT16_TRAINING, HIGH, File, Finding, rule

from ._support.float16_words import LARGEST

_LARGEST = LIMITS[FLOAT16].largest
_FIVE_DIGITS = r"(?<=6)(?:55(?:0[5-9]|[1-9]\d)|5[6-9]\d\d|[6-9]\d{3})|(?<=[7-9])\d{4}"
_LARGE = rf"\d(?:(?<![\w.]\d)(?:{_FIVE_DIGITS}|\d{{5}})|\.?[eE]\+?(?:[4-9]|\d\d))"
"""A number beyond float16; not a version, a decimal fraction or the number of a paper."""
_POWER = r"\*\*(?:(?<=[A-Z\d.]\*\*)|(?<=[A-Z\d.] \*\*)| ?\(?\d\d)"
_MAY_OVERFLOW = rf"{_LARGE}|finfo|{_POWER}|<<|0(?<=\b0)[xX]|\d_\d"
"""Without one of these, a text has no large constant; each begins with one of few signs, which are found faster than a choice."""
_INFINITE = 65520.0
"""What float16 rounds to infinity; between this and the largest value it rounds down."""

_OUTCOME = {
    ConstantEffect.FILLED: "the call raises `RuntimeError: value cannot be converted to type c10::Half without overflow`",
    ConstantEffect.STORED: "on CUDA the call raises `RuntimeError: value cannot be converted to type c10::Half without overflow`",
    ConstantEffect.CHOSEN: "the constant becomes infinite, and a softmax over a row of infinities is NaN",
    ConstantEffect.ADDED: "the result is infinite",
    ConstantEffect.SCALES: "the product becomes infinite, and a softmax over a row of infinities is NaN",
}
_OUTCOME[ConstantEffect.LOWER] = _OUTCOME[ConstantEffect.UPPER] = _OUTCOME[ConstantEffect.FILLED]
_VERBS = {
    ConstantEffect.FILLED: "is filled into",
    ConstantEffect.STORED: "is assigned to elements of",
    ConstantEffect.CHOSEN: "is put into",
    ConstantEffect.ADDED: "is added to",
    ConstantEffect.SCALES: "is multiplied with",
    ConstantEffect.LOWER: "bounds",
    ConstantEffect.UPPER: "bounds",
}


@rule(
    "AMP303",
    "constant-overflows-half",
    ERROR,
    HIGH,
    "0.1.0",
    fix=SAFE,
    triggers=(r"^masked_fill_?$",),
    amid=_MAY_OVERFLOW,
    awaits=FLOAT16_TRAINING,
    entered=_LARGE,
    observable=Observable(NON_FINITE),
)
def check(file: File) -> Iterator[Finding]:
    yield from _findings(file, file.fact(Dtypes).constants, "", frozenset())
    needs = frozenset({FLOAT16_TRAINING})
    yield from _findings(file, file.fact(Dtypes).constants_if_lowered, "where the model runs under autocast, ", needs)


def _findings(file: File, constants: Iterable[ConstantUse], where: str, needs: frozenset[str]) -> Iterator[Finding]:
    calls: dict[cst.CSTNode, list[ConstantUse]] = {}
    for constant in filter(_overflows, constants):
        calls.setdefault(constant.operation.node, []).append(constant)
    for node, (first, *others) in calls.items():
        shown = constant_text(file.tree.text(first.node) if first.node is not None else "", first.value)
        message = f"`{shown}` {_VERBS[first.use]} a float16 tensor, whose largest value is {LARGEST}"
        fix, rests_on = _fix(file, [first, *others]), needs | file.fact(Dtypes).needs(first.operation)
        yield Finding(
            file.range(node),
            message,
            where + _OUTCOME[first.use],
            file.fact(Dtypes).origin(first.operation, first.operand),
            fix or NoFix("what should stand there depends on what the constant means"),
            rests_on,
        )


def _overflows(constant: ConstantUse) -> bool:
    if not constant.operand.sure:
        return False
    if constant.use in (ConstantEffect.ADDED, ConstantEffect.CHOSEN):
        return abs(constant.value) >= _INFINITE
    if constant.use is ConstantEffect.SCALES:  # a mask: zeros and ones
        return abs(constant.value) >= _INFINITE and (constant.operand.low, constant.operand.high) == (0.0, 1.0)
    return abs(constant.value) > _LARGEST


def _fix(file: File, constants: list[ConstantUse]) -> Fix | None:
    """Replace every constant of one call."""
    edits: list[Edit] = []
    limits: list[str] = []
    for constant in constants:
        dtype = _dtype_text(file, constant)
        if (
            constant.use in (ConstantEffect.ADDED, ConstantEffect.SCALES)
            or not (constant.node and dtype)
            or _is_marker(file, constant)
        ):
            return None
        spelling, imports = file.importer.get("torch.finfo", constant.node)
        limits.append(f"{spelling}({dtype}).{'min' if constant.value < 0 else 'max'}")
        edits += [*imports, Edit(*file.tree.span(constant.node), limits[-1])]
    return Fix("Replace with " + " and ".join(f"`{limit}`" for limit in limits), file.importer.joined(edits))


def _dtype_text(file: File, constant: ConstantUse) -> str | None:
    """How the dtype of the tensor is written; None where the tensor has no name."""
    node = constant.operand_node
    if node is None:
        dtype = constant.operation.arguments.keyword_nodes.get("dtype")
        node = constant.operation.arguments.node(0)
        if dtype is not None:
            return file.tree.text(dtype)
    if not isinstance(node, (cst.Name, cst.Attribute)) or "(" in file.tree.text(node):
        return None
    return f"{file.tree.text(node)}.dtype"


def _is_marker(file: File, constant: ConstantUse) -> bool:
    """Whether the file compares tensors with the constant, so that another one would not be found."""
    return any(
        getattr(value, "value", None) == constant.value
        for operation in file.fact(Dtypes).lowered
        if operation.op in ("compare", "eq", "ne", "lt", "le", "gt", "ge")
        for value in operation.operands
    )
