"""Classes that derive from layers of PyTorch (`class ConvBNReLU(nn.Sequential)`): which layer their objects run as."""

from __future__ import annotations

from amplint.dtypes.containers import text_key
from amplint.dtypes.values import Arguments, Choice, Instance, Layer, Value
from amplint.model.torch import layers
from amplint.syntax.class_info import ClassInfo

_CHAIN = "Sequential"
_GIVEN = "super().__init__"
"""Where an object keeps the layers that its base was made of: no attribute is called so."""


def layer_behind(instance: Instance, info: ClassInfo) -> Layer | None:
    """The layer that an object runs as where its class has no `forward` of its own; None where its class derives from none.

    Args:
        instance: the object.
        info: its class.
    """
    kind = _derived_from(info)
    if not kind or any("forward" in each.inert for each in info.lineage):
        return None
    if kind != _CHAIN:
        return Layer(kind, instance.cls)
    given = instance.attributes.get(_GIVEN)
    named = (
        each
        for each in instance.attributes.values()
        if isinstance(each, (Layer, Instance, Choice)) and each is not given
    )
    parts = (*(given.parts if isinstance(given, Layer) else ()), *named)
    return Layer(kind, instance.cls, parts) if parts else None


def make(instance: Instance, info: ClassInfo, parts: tuple[Value, ...]) -> None:
    """Note the layers of which `super().__init__(*layers)` makes an object whose class derives from `nn.Sequential`.

    Args:
        instance: the object.
        info: its class.
        parts: the layers.
    """
    if parts and _derived_from(info) == _CHAIN:
        instance.attributes[_GIVEN] = Layer(_CHAIN, instance.cls, parts)


def add(instance: Instance, info: ClassInfo, arguments: Arguments) -> None:
    """Note the module that `self.add_module(name, module)`, or `self.append(module)`, puts into an object.

    Args:
        instance: the object.
        info: its class.
        arguments: what the method is given.
    """
    module = arguments.get(len(arguments.values) - 1, "module")
    key = text_key(arguments.node(0, "name"))
    if module is not None and key is not None:
        instance.attributes[key] = module
    elif module is not None and _derived_from(info) == _CHAIN:
        instance.attributes[f"{_GIVEN} {len(instance.attributes)}"] = module


def _derived_from(info: ClassInfo) -> str:
    """The only layer of PyTorch that a class derives from; empty where any other base may have its methods."""
    module, _, kind = next(iter(info.foreign_bases), "").rpartition(".")
    is_layer = len(info.foreign_bases) == 1 and module == "torch.nn" and (kind in layers.LAYERS or kind == _CHAIN)
    return kind if is_layer else ""
