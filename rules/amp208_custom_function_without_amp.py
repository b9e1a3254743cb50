"""An `autograd.Function` multiplies matrices in its backward pass without telling autocast.

## What it does
Flags a subclass of `torch.autograd.Function` whose `backward` runs matrix products or convolutions, or layers that its
`forward` has run, or whose `forward` hands its input and the weight of a module to a kernel of an extension, and whose
methods lack `custom_fwd` or `custom_bwd`, in a project that trains in mixed precision: one of its files makes a
`GradScaler`, or enters a region and calls `backward()`.

## Why it matters
In a region your `forward` gets its products in half, and saves tensors that are float32. Your `backward` runs outside
of the region, multiplies a half gradient with a float32 tensor, and raises a `RuntimeError` about two dtypes. With the
decorators it runs under the autocast state of its `forward`. With `custom_bwd` alone it raises an `AttributeError`.

A function of element-wise operations needs neither, nor does one that saves what it has cast itself; that is why the
rule is off by default.

## Example
```python
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

with torch.autocast("cuda"):
    loss = Product.apply(data, weight).float().mean()
loss.backward()
```

## Use instead
```python
import torch

class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

with torch.autocast("cuda"):
    loss = Product.apply(data, weight).float().mean()
loss.backward()
```

## Fix safety
The fix adds the decorators that are missing: those of `torch.amp` where the target is PyTorch 2.4 or later, or where
the other one is spelled so, else those of `torch.cuda.amp`. It is unsafe: a kernel of an extension may need
`cast_inputs=`, and for another device than CUDA the device type has to be changed. You get none for functions with
`setup_context`, since the decorators need the context as first argument.

## Limitations
What operations of extensions do is not known: they count where a module of the same file gives a weight of its own to
a kernel, and nothing in the file speaks of dtypes. Functions that `backward` calls are looked into in the same file;
layers that it runs again count in files that enter a region.

## References
- https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.diagnostics import UNSAFE, Edit, Fix, NoFix
from amplint.facts.autograd_functions import CustomFunction, CustomFunctions
from amplint.model.observables import BACKWARD_ERROR, Observable
from amplint.rule import ERROR, MEDIUM, MIXED_PRECISION, TRAINING, File, Finding, rule


@rule(
    "AMP208",
    "custom-function-without-amp",
    ERROR,
    MEDIUM,
    "0.1.0",
    fix=UNSAFE,
    default=False,
    triggers=(r"^autograd$", r"^save_for_backward$"),
    observable=Observable(BACKWARD_ERROR),
)
def check(file: File) -> Iterator[Finding]:
    for function in file.fact(CustomFunctions).unaware():
        yield Finding(
            file.range(function.node.name),
            f"`{function.node.name.value}` multiplies in `backward` without {' and '.join(_missing(function))}",
            "under autocast, `backward` multiplies half gradients with what `forward` saved in float32, and raises an error",
            related=file.related("autocast reaches this product in `forward` only", function.product),
            fix=_fix(file, function) or NoFix("`forward` and `backward` are not plain methods here"),
            needs=frozenset({TRAINING}),
        )
    for function in file.fact(CustomFunctions).mixing():
        yield Finding(
            file.range(function.node.name),
            f"`{function.node.name.value}` gives a kernel half inputs and float32 weights, without `custom_fwd`",
            "under autocast, the inputs come in half from layers while the weight stays float32; most kernels refuse the mixture",
            related=file.related("the kernel gets both here", function.product),
            fix=_fix(file, function, cast=True) or NoFix("which inputs the kernel needs in which dtype is not clear"),
            needs=frozenset({MIXED_PRECISION}),
        )
    for function in file.fact(CustomFunctions).recomputing():
        yield Finding(
            file.range(function.node.name),
            f"`{function.node.name.value}` runs layers again in `backward` without {' and '.join(_missing(function))}",
            "`backward` runs outside of the region: half inputs meet float32 weights there, or all is computed in float32",
            related=file.related("autocast does not reach these layers", function.product),
            fix=_fix(file, function) or NoFix("`forward` and `backward` are not plain methods here"),
            needs=frozenset({TRAINING}),
        )


def _missing(function: CustomFunction) -> list[str]:
    given = {"`custom_fwd`": function.has_fwd, "`custom_bwd`": function.has_bwd}
    return [name for name, has in given.items() if not has]


def _fix(file: File, function: CustomFunction, cast: bool = False) -> Fix | None:
    """Add the decorators that are missing, with a cast of the inputs to float32 where one is wanted."""
    if function.sets_up_context:
        return None
    modern = file.torch >= (2, 4) or any(name.startswith("torch.amp.") for name in function.spelled)
    edits: list[Edit] = []
    for method, kind, has in (
        (function.forward, "custom_fwd", function.has_fwd),
        (function.backward, "custom_bwd", function.has_bwd),
    ):
        if not has:
            spelling, imports = file.importer.get(f"torch.amp.{kind}" if modern else f"torch.cuda.amp.{kind}", method)
            row = file.source.position(file.tree.span(method.name)[0]).row
            place = file.source.line_starts[row - 1]
            given = ['device_type="cuda"'] if modern else []
            if cast and kind == "custom_fwd":
                dtype, more = file.importer.get("torch.float32", method)
                imports = (*imports, *more)
                given.append(f"cast_inputs={dtype}")
            call = f"({', '.join(given)})" if given else ""
            line = f"{file.source.indent(row)}@{spelling}{call}{file.source.newline}"
            edits += [*imports, Edit(place, place, line)]
    return Fix("Run both passes under one autocast state", file.importer.joined(edits), UNSAFE)
