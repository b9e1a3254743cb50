"""A vocabulary, a number of channels or a size of attention heads that is not a multiple of 8 makes products slower.

## What it does
Flags three sizes that are literals, or constants, and not multiples of 8, in runs that use mixed precision: the rows of
an `nn.Embedding` that a model also makes logits of, by the same weight or by an `nn.Linear` of as many outputs; the
channels between two convolutions of a model; and the size of the heads of `nn.MultiheadAttention` and of the layers
around it.

## Why it matters
Tensor Cores multiply float16 and bfloat16 matrices most efficiently when every size is a multiple of 8 elements, of 64
on an A100. With the wheels of PyTorch 2 other sizes still run on Tensor Cores, only slower. The product that makes your
logits is usually a large one, which is why the 50257 tokens of GPT-2 are commonly padded to 50304.

Vocabularies belong to tokenizers, and cuDNN may pad channels by itself; so the rule is off unless selected, and there
are good reasons to leave a size as it is.

## Example
```python
import torch
from torch import nn

class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50257, 768)
        self.head = nn.Linear(768, 50257, bias=False)

def predict(model, ids):
    with torch.amp.autocast("cuda"):
        return model(ids)
```

## Use instead
```python
import torch
from torch import nn

class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50304, 768)
        self.head = nn.Linear(768, 50304, bias=False)

def predict(model, ids):
    with torch.amp.autocast("cuda"):
        return model(ids)
```

## Fix safety
Unsafe: it changes the shape of parameters, so that old checkpoints no longer load. A vocabulary is rounded up to a
multiple of 64, channels to one of 8. The tokens that are added stand for nothing, and have to be left out where you
sample tokens. You get no fix when the same number also stands elsewhere, where a model concatenates channels, and for
attention heads.

## Limitations
Embeddings that are only read, fewer than 512 tokens, fewer than 32 channels, and the channels of a first input or a
last output are silent. A model under `torch.compile` may be padded by the compiler already. How much time is lost
depends on the device: `amplint verify` measures the products of linear layers on a GPU, and does not time convolutions.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html#requirements-tc
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import UNSAFE, Fix, NoFix
from amplint.model.observables import PRODUCT_TIME, Observable
from amplint.rule import INFO, LOW, MIXED_PRECISION, File, Finding, rule

from ._support.linear_chains import CONVOLUTIONS, Hidden, Model, Size, models, size_argument
from ._support.resize_layers import SHARED, resized, sizes_of

_MULTIPLE = 8
_VOCABULARY_MULTIPLE = 64
_FEWEST_TOKENS = 512
_FEWEST_CHANNELS = 32
_EMBEDDING = frozenset({"torch.nn.Embedding"})
_LINEAR = frozenset({"torch.nn.Linear"})
_ATTENTION = {
    "torch.nn.MultiheadAttention": ("embed_dim", "num_heads"),
    "torch.nn.Transformer": ("d_model", "nhead"),
    "torch.nn.TransformerEncoderLayer": ("d_model", "nhead"),
    "torch.nn.TransformerDecoderLayer": ("d_model", "nhead"),
}
"""The names of the width and of the number of heads, which are the first two parameters."""
_PRODUCTS = frozenset({"torch.nn.functional.linear", "torch.matmul", "torch.mm", "torch.einsum"})
_JOINS = frozenset({"torch.cat", "torch.concat", "torch.concatenate", "torch.chunk", "torch.split"})
_WHY = "Tensor Cores are fastest with multiples of 8 (64 on an A100)"

_SPELLED_OUT = (
    r"\b(?:Conv(?:Transpose)?[123]d|Embedding|MultiheadAttention|Transformer(?:\w+Layer)?)"
    r"\([\w.=*,\s]{0,80}?\b(?:\d{2,}|[A-Z][A-Z0-9_]+)\b"
)


@rule(
    "AMP402",
    "misaligned-vocabulary-or-channels",
    INFO,
    LOW,
    "0.1.0",
    fix=UNSAFE,
    default=False,
    triggers=(_SPELLED_OUT,),
    observable=Observable(PRODUCT_TIME, tolerance=0.02),
)
def check(file: File) -> Iterator[Finding]:
    for call in file.tree.find(cst.Call):
        if file.names.all_in(call.func, _EMBEDDING):
            yield from _vocabulary(file, call)
        elif file.names.all_in(call.func, _ATTENTION):
            yield from _heads(file, call)
    for model in models(file, CONVOLUTIONS):
        for hidden in model.hidden:
            if hidden.value % _MULTIPLE and hidden.value >= _FEWEST_CHANNELS:
                yield _channels(file, model, hidden)


def _vocabulary(file: File, embedding: cst.Call) -> Iterator[Finding]:
    rows = size_argument(file, embedding, 0, "num_embeddings")
    model = file.tree.enclosing(embedding, cst.ClassDef)
    if rows is None or model is None or rows.value % _MULTIPLE == 0 or rows.value < _FEWEST_TOKENS:
        return
    heads = [
        (call, size)
        for call in file.tree.inside(model, cst.Call)
        if file.names.all_in(call.func, _LINEAR)
        and (size := size_argument(file, call, 1, "out_features")) is not None
        and size.value == rows.value
    ]
    product = _own_product(file, embedding, model)
    if heads:
        layer, related = heads[0][0], file.related("the vocabulary is embedded here", embedding)
    elif product is not None:
        layer, related = embedding, file.related("multiplied here", product)
    else:
        return
    wanted = _rounded(rows.value, _VOCABULARY_MULTIPLE)
    yield Finding(
        file.range(layer),
        f"The vocabulary size {rows.value} is not a multiple of {_MULTIPLE}, which slows half-precision logits",
        f"{_WHY}; the next multiple of {_VOCABULARY_MULTIPLE} is {wanted}",
        related,
        _fix(file, file.tree.module, rows.value, [rows, *(size for _, size in heads)], wanted),
        frozenset({MIXED_PRECISION}),
    )


def _own_product(file: File, embedding: cst.Call, model: cst.CSTNode) -> cst.BaseExpression | None:
    """The product that a model makes with the weight of its embedding."""
    assign = file.tree.parent(embedding)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
    if target is None:
        return None
    for weight in file.tree.find(cst.Attribute):
        if weight.attr.value != "weight" or not weight.value.deep_equals(target):
            continue
        above = list(file.tree.ancestors(weight))
        if model not in above:
            continue
        for each in above:
            if isinstance(each, cst.BinaryOperation) and isinstance(each.operator, cst.MatrixMultiply):
                return each
            if isinstance(each, cst.Call) and file.names.all_in(each.func, _PRODUCTS):
                return each
    return None


def _channels(file: File, model: Model, hidden: Hidden) -> Finding:
    wanted = _rounded(hidden.value, _MULTIPLE)
    joins = any(file.names.any_in(call.func, _JOINS) for call in file.tree.inside(model.scope, cst.Call))
    sizes = sizes_of(model, hidden)
    return Finding(
        file.range(hidden.producers[0].node),
        f"The channel count {hidden.value} is not a multiple of {_MULTIPLE}, which slows half-precision convolutions",
        f"{_WHY}; the next multiple of {_MULTIPLE} is {wanted}",
        file.related("consumed here", *(layer.node for layer in hidden.consumers)),
        NoFix("the model concatenates or splits channels, and their sum would have to change, too")
        if joins
        else _fix(file, model.scope, hidden.value, sizes, wanted),
        frozenset({MIXED_PRECISION}),
    )


def _heads(file: File, call: cst.Call) -> Iterator[Finding]:
    for name in file.names.resolve(call.func):
        width, heads = (size_argument(file, call, place, each) for place, each in enumerate(_ATTENTION[name]))
        if width is None or heads is None or not heads.value or width.value % heads.value:
            continue
        size = width.value // heads.value
        if size % _MULTIPLE and width.value >= _FEWEST_CHANNELS:
            yield Finding(
                file.range(call),
                f"The head size {size} is not a multiple of {_MULTIPLE}, which slows half-precision products",
                _WHY,
                needs=frozenset({MIXED_PRECISION}),
                fix=NoFix("only you can say whether heads or width should change"),
            )
        return


def _rounded(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _fix(file: File, scope: cst.CSTNode, value: int, sizes: list[Size], wanted: int) -> Fix | NoFix:
    edits = resized(file, scope, value, sizes, wanted)
    return Fix(f"Round {value} up to {wanted} wherever it is shared", edits, UNSAFE) if edits else SHARED
