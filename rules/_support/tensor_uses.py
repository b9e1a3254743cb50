"""Which names are surely tensors, by what a function does with them."""

from __future__ import annotations

import libcst as cst

from amplint.model.torch.layers import is_called
from amplint.rule import File

_OF_TENSORS = frozenset(
    "shape ndim size dim dtype numel view reshape unsqueeze squeeze permute transpose flatten mean requires_grad "
    "detach contiguous expand chunk argmax".split()
)
"""What is asked of tensors, and of next to nothing else that has a `device`."""
_TAKES_ANYTHING = "torch.nn.Identity"


def is_used_as_tensor(file: File, name: cst.Name) -> bool:
    """Whether the function around a name asks of it what only tensors have, or gives it, and nothing else by that name, to a
    layer of torch."""
    home = file.tree.enclosing(name, cst.FunctionDef)
    if home is None:
        return False
    asked = (each for each in file.tree.inside(home, cst.Attribute) if each.attr.value in _OF_TENSORS)
    if any(_is(name, each.value) for each in asked):
        return True
    bound = file.names.bindings(name.value, name)
    given = (call for call in file.tree.inside(home, cst.Call) if call.args and not call.args[0].star)
    return len(bound) == 1 and any(
        _is(name, first := call.args[0].value)
        and file.names.bindings(name.value, first) == bound
        and _wants_tensor(file, call.func)
        for call in given
    )


def _is(name: cst.Name, value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name) and value.value == name.value


def _wants_tensor(file: File, function: cst.BaseExpression) -> bool:
    """Whether a function is one of `torch.nn.functional`, or a layer of torch that the class has made."""
    if not isinstance(function, cst.Attribute):
        return False
    if not (isinstance(function.value, cst.Name) and function.value.value == "self"):
        return _is_layer(file, function)
    info = file.classes.owner(function)
    made = info.values(function.attr.value) if info is not None else []
    return bool(made) and all(isinstance(each, cst.Call) and _is_layer(file, each.func) for each in made)


def _is_layer(file: File, function: cst.BaseExpression) -> bool:
    meanings = file.names.resolve(function)
    return bool(meanings) and all(is_called(each) and each != _TAKES_ANYTHING for each in meanings)
