"""The devices that calls in other files give a file, which enters regions with them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Related
from amplint.file import File
from amplint.model.torch.names import AUTOCAST_GENERIC
from amplint.roles.told_objects import ToldObjects

DEVICE = "torch.device"


class DevicesElsewhere:
    """What one file takes from its callers as the type of a region's device.

    Args:
        file: the file.
    """

    def __init__(self, file: File) -> None:
        self._file, self._told = file, ToldObjects(file.tree, file.classes)

    @property
    def taken(self) -> Iterator[cst.BaseExpression]:
        """What regions are given as the type of their device, and names something."""
        for node in self._file.names.references(AUTOCAST_GENERIC):
            call = self._file.tree.parent(node)
            if isinstance(call, cst.Call) and call.func is node and call.args and not call.args[0].star:
                first, *others = call.args
                named = (each for each in others if each.keyword is not None and each.keyword.value == "device_type")
                given = first if first.keyword is None else next(named, first)
                if given.keyword is None or given.keyword.value == "device_type":
                    yield given.value

    def made(self, param: cst.Param) -> tuple[Related, ...]:
        """Where other files make the `torch.device` that all of their calls give a parameter, as a second location.

        Args:
            param: the parameter.
        """
        told = self._told.told_of(param)
        return (self._told.related(told),) if told is not None and told.name == DEVICE else ()
