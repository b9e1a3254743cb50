"""The modules of PyTorch that other files make: what their calls give to parameters, and what functions of theirs give back."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Related
from amplint.dtypes.values import Layer
from amplint.file import File
from amplint.roles.told_objects import ToldObjects


class LayersElsewhere:
    """What other files have said of the modules that they make for one.

    Args:
        file: the file that calls the modules.
    """

    def __init__(self, file: File) -> None:
        self._file, self._told = file, ToldObjects(file.tree, file.classes)

    def given(self, param: cst.Param) -> Layer | None:
        """The module that a parameter holds; None for anything else.

        Args:
            param: the parameter.
        """
        return self._layer(param)

    def made(self, instance: cst.BaseExpression) -> Layer | None:
        """The module that an object is; None for anything else.

        Args:
            instance: what names the object.
        """
        held = self._file.callees.objects.held(instance) if self._told.any else []
        return self._layer(held[0]) if len(held) == 1 and isinstance(held[0], cst.Call) else None

    def _layer(self, source: cst.Param | cst.Call) -> Layer | None:
        told = self._told.told_of(source)
        module, _, kind = told.name.rpartition(".") if told is not None else ("", "", "")
        return Layer(kind, source) if module == "torch.nn" else None

    def related(self, layer: Layer) -> tuple[Related, ...]:
        """Where another file makes a module, as a second location; empty where this one does.

        Args:
            layer: the module.
        """
        told = self._told.told_of(layer.node) if isinstance(layer.node, cst.Param | cst.Call) else None
        return (self._told.related(told),) if told is not None else ()
