"""A hidden size of `nn.Linear` that is not a multiple of 8 makes half-precision matrix products slower.

## What it does
Flags `nn.Linear` layers whose output size is a literal, or a constant, that is not a multiple of 8, and that a later
`nn.Linear`, or a recurrent or attention layer, of the same model takes as its input, in runs that use mixed precision.

## Why it matters
Tensor Cores multiply float16 and bfloat16 matrices most efficiently when every size is a multiple of 8 elements (of 64
on an A100), so that rows begin at aligned addresses. With the wheels of PyTorch 2 other sizes still run on Tensor
Cores, only slower. A hidden size is one of the few that you are free to choose, and you pay for it three times: in the
forward product and in both products of the backward pass.

If you have checkpoints to load, or the layer is no part of what takes the time, leave it.

## Example
```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()

def predict(images):
    with torch.amp.autocast("cuda"):
        return model(images)
```

## Use instead
```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 504), nn.ReLU(), nn.Linear(504, 10)).cuda()

def predict(images):
    with torch.amp.autocast("cuda"):
        return model(images)
```

## Fix safety
Unsafe: it changes the shape of parameters, so that old checkpoints no longer load, and makes the model a little larger.
The fix rounds the size up in every layer that shares it, normalisation layers included; a constant is changed where it
is assigned. You get none when the same number also stands elsewhere in the model, because it may have to change with
it, and none for attention, whose number of heads must divide the size.

## Limitations
Input features, class counts and other outputs of a last layer are not free to choose and stay silent. So do sizes below
32, sizes that lie only between sizes below 128, and sizes below 128 whose layers lead to a single number, as in the
head of a critic: their products take no time worth saving. Sizes that arrive as parameters are not judged, nor are
those in tests and timings that train nothing; constants that are spelled in lower case are found only in files that
mention AMP themselves. A file that calls `backward()`, or is a program with options, and holds no word of AMP runs in
full precision, whatever other files of the run do (an example of a library that can do both, say), and what is
exported (`models_onnx.py`) runs elsewhere. Models under `torch.compile` may be padded by the compiler already. How
much time is lost depends on the device: `amplint verify` measures it on a GPU.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html#requirements-tc
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.diagnostics import UNSAFE, Fix, NoFix
from amplint.facts.trial_code import Trials
from amplint.model.observables import PRODUCT_TIME, Observable
from amplint.rule import INFO, MEDIUM, MIXED_PRECISION, File, Finding, Option, rule

from ._support.linear_chains import ATTENTIONS, Hidden, Model, models
from ._support.resize_layers import SHARED, resized, sizes_of

MULTIPLE = Option("AMP401", "multiple", 8, "Sizes are to be multiples of it: of 64 for an A100.")
_SMALLEST = 32
_SMALLEST_OTHER = 128
"""Products with a smaller side, or a smaller other side, are over before alignment could matter."""


_EXPORTED = re.compile(r"(^|[/_])(onnx|export|tensorrt|coreml|tflite)(_[^/]*)?\.py$")
"""Files with models that other programs than PyTorch run."""

_SPELLED_OUT = r"\bLinear\([\w.=*,\s]{0,80}?\b(?:\d{2,}|[A-Z][A-Z0-9_]+)\b"
"""Nearly every file of models holds a `Linear`; few spell out a size, and only those are worth a parse."""


@rule(
    "AMP401",
    "misaligned-linear",
    INFO,
    MEDIUM,
    "0.1.0",
    fix=UNSAFE,
    triggers=(_SPELLED_OUT,),
    observable=Observable(PRODUCT_TIME, tolerance=0.02),
    options=(MULTIPLE,),
)
def check(file: File) -> Iterator[Finding]:
    for model in models(file):
        for hidden in model.hidden:
            wide = hidden.value % file.option(MULTIPLE) and hidden.value >= _SMALLEST and _has_work(hidden)
            # Nobody waits for a test, and a timing may be of this very size.
            if wide and not file.fact(Trials).everywhere and _EXPORTED.search(file.source.path) is None:
                yield _finding(file, model, hidden)


def _has_work(hidden: Hidden) -> bool:
    """Whether some product over the hidden size has another side that is not small; unknown outputs may be few classes.

    A narrow layer that ends in one number is the head of a critic, which runs once behind all the others.
    """
    ends = {layer.fan_out.value if layer.fan_out is not None else None for layer in hidden.consumers}
    if hidden.value < _SMALLEST_OTHER and ends == {1}:
        return False
    before, after = [layer.fan_in for layer in hidden.producers], [layer.fan_out for layer in hidden.consumers]
    known = [size.value for size in (*before, *after) if size is not None]
    return None in before or any(value >= _SMALLEST_OTHER for value in known)


def _finding(file: File, model: Model, hidden: Hidden) -> Finding:
    first, *rest = hidden.producers
    multiple = file.option(MULTIPLE)
    wanted = -(-hidden.value // multiple) * multiple
    related = file.related("also produced here", *(layer.node for layer in rest))
    related += file.related("consumed here", *(layer.node for layer in hidden.consumers))
    return Finding(
        file.range(first.node),
        f"The hidden size {hidden.value} is not a multiple of {multiple}, which slows half-precision products",
        f"Tensor Cores are fastest with multiples of 8 (64 on an A100); the next multiple of {multiple} is {wanted}",
        related,
        _fix(file, model, hidden, wanted),
        frozenset({MIXED_PRECISION}),
    )


def _fix(file: File, model: Model, hidden: Hidden, wanted: int) -> Fix | NoFix:
    if any(file.names.any_in(layer.node.func, ATTENTIONS) for layer in hidden.consumers):
        return NoFix("the number of attention heads has to divide the size")
    edits = resized(file, model.scope, hidden.value, sizes_of(model, hidden), wanted)
    title = f"Round {hidden.value} up to {wanted} wherever the model shares it"
    return Fix(title, edits, UNSAFE) if edits else SHARED
