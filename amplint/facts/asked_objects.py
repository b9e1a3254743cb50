"""Objects of unknown classes whose methods a file gives its scaler: what those do with it, only callers can tell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model.caller_contexts import AskedObject
from amplint.roles.told_objects import taker_of
from amplint.syntax.access_paths import path_of


class AskedObjects:
    """What one file asks its callers."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._names = file, file.tree, file.names
        self._classes, self._roles, self._objects = file.classes, file.roles, file.callees.objects

    @cached_property
    def found(self) -> tuple[AskedObject, ...]:
        """The parameters whose objects get the scaler as an argument of a method, each once."""
        place = self._file.source.place
        receivers = list(self._receivers()) if place is not None and "caler" in self._file.source.text else []
        params = [param for each in receivers for param in self._params(each)]
        asked = ((taker_of(param, self._tree, self._classes), param.name.value) for param in params)
        path = os.fspath(place.path) if place is not None else ""
        return tuple(dict.fromkeys(AskedObject(path, owner, name) for owner, name in asked if owner))

    def _receivers(self) -> Iterator[cst.BaseExpression]:
        """The objects of unknown classes to which methods belong that are given the scaler."""
        for call in self._tree.find(cst.Call):
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
            if receiver is None or path_of(receiver) in ("", "self"):
                continue
            if any(self._roles.of(arg.value).role == "scaler" for arg in call.args):
                if self._objects.class_of(receiver) is None:
                    yield receiver

    def _params(self, receiver: cst.BaseExpression) -> Iterator[cst.Param]:
        """The parameter that an object comes from: itself, or what the constructor keeps as this attribute."""
        owner = self._classes.owner(receiver)
        if isinstance(receiver, cst.Name):
            sources: list[cst.BaseExpression] = [receiver]
        elif path_of(receiver).startswith("self.") and path_of(receiver).count(".") == 1 and owner is not None:
            sources = [each for each in owner.values(path_of(receiver)[5:]) if path_of(each) != "None"]
        else:
            return
        for name in sources:
            bound = self._names.bindings(name.value, name) if isinstance(name, cst.Name) else []
            if len(bound) == 1 and isinstance(bound[0].node, cst.Param):
                yield bound[0].node
