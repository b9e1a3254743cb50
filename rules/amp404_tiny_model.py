"""A model is trained in mixed precision that is too small to gain from it.

## What it does
Flags a class of linear layers, or an `nn.Sequential` of them, whose sizes are all spelled out and add up to fewer than
65536 weights, if the file trains it in an autocast region, and no other model beside it.

## Why it matters
Half precision saves time in large matrix products, and yours are small: with so few weights, forward and backward pass
of a batch of 4096 rows are 1.6 billion operations, tens of microseconds of work, about what it takes to start the
kernels. Autocast starts more of them, for its casts. There is little memory to save, too.

Nothing is wrong with the result. With very large batches you may gain after all, so the rule is off unless selected.

## Example
```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())

def step(batch, target):
    optimizer.zero_grad()
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(batch), target)
    loss.backward()
    optimizer.step()
```

## Use instead
```python
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())

def step(batch, target):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(batch), target)
    loss.backward()
    optimizer.step()
```

## Fix safety
There is no fix: whether to train in full precision is yours to decide.

## Limitations
Convolutions, recurrent layers and attention are not judged, for their work depends on the input; neither are models
with parameters of their own, or with modules of another kind.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.facts.forward_passes import ForwardPass, Forwards
from amplint.model.torch.operators import Kind, layers_of
from amplint.rule import INFO, LOW, File, Finding, Option, rule

from ._support.linear_chains import size_argument

FEWEST_WEIGHTS = Option("AMP404", "fewest-weights", 2**16, "A model with at least as many weights may gain.")
_SEQUENTIAL = frozenset({"torch.nn.Sequential"})
_SIZES = {
    "torch.nn.Linear": ("in_features", "out_features"),
    "torch.nn.Embedding": ("num_embeddings", "embedding_dim"),
}
_SMALL_LAYERS = frozenset(
    f"torch.nn.{name}"
    for name in layers_of(Kind.ELEMENTWISE, Kind.ALONG, Kind.LAYOUT, Kind.POOL)
    | {"Sequential", "ModuleList", "ModuleDict"}
)
"""Layers that have next to no weights beside those of the linear ones."""
_CONTAINERS = frozenset(f"torch.nn.{name}" for name in ("Sequential", "ModuleList", "ModuleDict"))
_REPEATS = (cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp, cst.For, cst.While)

_Model = cst.ClassDef | cst.Call


@rule("AMP404", "tiny-model", INFO, LOW, "0.1.0", default=False, options=(FEWEST_WEIGHTS,))
def check(file: File) -> Iterator[Finding]:
    passes = [each for each in file.fact(Forwards).passes if each.trains]
    models = [_model(file, each) for each in passes]
    for model in dict.fromkeys(models):
        number = _weights(file, model) if model is not None else None
        if model is None or number is None or number >= file.option(FEWEST_WEIGHTS) or set(models) != {model}:
            continue
        if all(each.entry is not None and not _is_fed(file, each) for each in passes):
            name = f"`{model.name.value}`" if isinstance(model, cst.ClassDef) else "The model"
            yield Finding(
                file.range(model.name if isinstance(model, cst.ClassDef) else model.func),
                f"{name} has {number} weights, too few to gain from mixed precision",
                "launching the kernels of a small model takes about as long as computing, and autocast launches casts besides",
                fix=NoFix("only you can say whether the model will grow"),
            )


def _model(file: File, each: ForwardPass) -> _Model | None:
    """What a pass runs: the class of this file, or the `nn.Sequential`; None where that is not known."""
    made: set[_Model | None] = set()
    for call in file.fact(Forwards).makers(each):
        info = file.classes.instance_of(call, abroad=False)
        if info is not None:
            made.add(info.node)
        else:
            made.add(call if file.names.all_in(call.func, _SEQUENTIAL) else None)
    return made.pop() if len(made) == 1 else None


def _is_fed(file: File, each: ForwardPass) -> bool:
    """Whether the input of a pass is computed by something that may be a model as well."""
    given = [arg.value for arg in each.call.args]
    given += [value for node in given for value in file.contexts.values(node)]
    for call in file.tree.find(cst.Call):
        if any(node in (call, *file.tree.ancestors(call)) for node in given):
            func = call.func
            own = isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self"
            unknown = not any(name.startswith("torch.") for name in file.names.resolve(func))
            if own or (isinstance(func, cst.Name) and unknown):
                return True
    return False


def _weights(file: File, model: _Model) -> int | None:
    """The number of weights in the layers of a model; None where they cannot be told."""
    if isinstance(model, cst.ClassDef) and file.classes.of(model).base_names != {"torch.nn.Module"}:
        return None
    number = 0
    for call in file.tree.inside(model, cst.Call):
        names = file.names.resolve(call.func)
        if names & _CONTAINERS and not all(_is_in_sight(file, arg.value, model) for arg in call.args):
            return None
        if len(names) == 1 and (name := next(iter(names))) in _SIZES:
            sizes = [size_argument(file, call, place, each) for place, each in enumerate(_SIZES[name])]
            if None in sizes or _is_repeated(file, call, model):
                return None
            first, second = (size.value for size in sizes if size is not None)
            number += first * second
        elif _may_be_layer(file, call) and not file.names.all_in(call.func, _SMALL_LAYERS):
            return None
    return number or None


def _is_in_sight(file: File, part: cst.BaseExpression, model: _Model) -> bool:
    """Whether all that a container of layers is given is made in the model, and so counted, in words that name the layers."""
    match part:
        case cst.Name():
            made = file.contexts.values(part)
            return bool(made) and all(
                isinstance(each, cst.Call) and model in file.tree.ancestors(each) and _is_in_sight(file, each, model)
                for each in made
            )
        case cst.Call():
            return all(name.startswith("torch.nn.") for name in file.names.resolve(part.func))
        case cst.List() | cst.Tuple() | cst.Dict():
            return all(_is_in_sight(file, each.value, model) for each in part.elements)
    return False


def _may_be_layer(file: File, call: cst.Call) -> bool:
    """Whether a call may add parameters to a model: a layer, or what an attribute is made of."""
    names = file.names.resolve(call.func)
    if any(name.startswith("torch.nn.") and not name.startswith("torch.nn.functional.") for name in names):
        return True
    method = file.tree.enclosing(call, cst.FunctionDef)
    held = file.tree.enclosing(call, cst.Assign, cst.AnnAssign)
    return isinstance(method, cst.FunctionDef) and method.name.value == "__init__" and held is not None


def _is_repeated(file: File, call: cst.Call, model: _Model) -> bool:
    for above in file.tree.ancestors(call):
        if above is model:
            return False
        if isinstance(above, _REPEATS):
            return True
    return False
