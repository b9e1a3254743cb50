"""Whose `device` is surely a `torch.device`: that of tensors, of parameters, and of objects of libraries that have it so."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from amplint.rule import File

from .tensor_uses import is_used_as_tensor

_WITH_DEVICE = frozenset({
    "accelerate.Accelerator", "lightning.LightningModule", "pytorch_lightning.LightningModule", "lightning.Fabric",
    "lightning.pytorch.LightningModule", "lightning.fabric.Fabric",
})  # fmt: skip
"""Classes whose `device` is a `torch.device`."""
_LOADING = ("transformers.", "diffusers.")
"""Libraries of which all that `from_pretrained` loads, and that has a `device`, has it so."""
_TENSOR = frozenset({"torch.Tensor", "torch.FloatTensor"})
_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})


def is_device_of_one(file: File, leaf: cst.CSTNode) -> bool:
    """Whether an expression is the `device` of something that has a `torch.device` so.

    Args:
        file: the file.
        leaf: the expression.
    """
    return is_device(leaf) and (is_tensor(file, leaf.value) or _has_device(file, leaf.value))


def is_device(leaf: cst.CSTNode) -> TypeGuard[cst.Attribute]:
    """Whether an expression asks for the `device` of something.

    Args:
        leaf: the expression.
    """
    return isinstance(leaf, cst.Attribute) and leaf.attr.value == "device"


def is_tensor(file: File, owner: cst.BaseExpression) -> bool:
    """Whether an object is surely a tensor, or a parameter.

    Args:
        file: the file.
        owner: what names the object.
    """
    if isinstance(owner, cst.Call):  # `next(model.parameters())`
        inner = (
            owner.args[0].value if len(owner.args) == 1 and file.names.all_in(owner.func, {"builtins.next"}) else None
        )
        return (
            isinstance(inner, cst.Call)
            and isinstance(inner.func, cst.Attribute)
            and inner.func.attr.value == "parameters"
        )
    if isinstance(owner, cst.Attribute):
        return _is_kept_parameter(file, owner)
    if not isinstance(owner, cst.Name) or owner.value == "self" and file.classes.owner(owner) is not None:
        return False
    bindings = file.names.bindings(owner.value, owner)
    if any(each.value is not None and _is_made_with_device(file, each.value) for each in bindings):
        return False
    annotations = [each.node.annotation for each in bindings if isinstance(each.node, cst.Param)]
    if annotations and all(each is not None and file.names.all_in(each.annotation, _TENSOR) for each in annotations):
        return len(annotations) == len(bindings)
    return is_used_as_tensor(file, owner)


def _has_device(file: File, owner: cst.BaseExpression) -> bool:
    """Whether the `device` of an object is surely a `torch.device`, for it is of a library that has it so."""
    if not isinstance(owner, cst.Name):
        return False
    info = file.classes.owner(owner) if owner.value == "self" else None
    if info is not None:
        return any(each.base_names & _WITH_DEVICE for each in info.lineage) and not info.values("device")
    values = [each.value for each in file.names.bindings(owner.value, owner)]
    return len(values) == 1 and values[0] is not None and _is_made_with_device(file, values[0])


def _is_made_with_device(file: File, value: cst.BaseExpression) -> bool:
    """Whether a call makes, or loads, an object whose `device` is a `torch.device`."""
    if not isinstance(value, cst.Call):
        return False
    if isinstance(value.func, cst.Attribute) and value.func.attr.value == "from_pretrained":
        return all(name.startswith(_LOADING) for name in file.names.resolve(value.func))
    return file.names.all_in(value.func, _WITH_DEVICE)


def _is_kept_parameter(file: File, attribute: cst.Attribute) -> bool:
    """Whether an attribute of `self` is one of the parameters of the model."""
    info = file.classes.owner(attribute)
    own = isinstance(attribute.value, cst.Name) and attribute.value.value == "self"
    values = info.values(attribute.attr.value) if info is not None and own else []
    made = [isinstance(each, cst.Call) and file.names.all_in(each.func, _PARAMETERS) for each in values]
    return bool(made) and all(made)
