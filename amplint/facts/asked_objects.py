"""Objects of unknown classes whose methods a file gives its scaler, losses, and devices: what they are, callers can tell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.devices_elsewhere import DEVICE, DevicesElsewhere
from amplint.file import File
from amplint.model.caller_contexts import AskedObject
from amplint.roles.told_objects import made_by, taker_of
from amplint.syntax.access_paths import called_name, path_of

_TRAINS = re.compile(r"^_?(train|fit|optimi[sz]e)|(step|update|backward)$", re.IGNORECASE)
"""Methods in which a backward pass may stand."""
_STEPPING = frozenset({"optimizer", "scaler", "scheduler"})
"""What has such methods, and no backward pass in them."""


class AskedObjects:
    """What one file asks its callers."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._names = file, file.tree, file.names
        self._classes, self._roles, self._objects = file.classes, file.roles, file.callees.objects

    def found(self, losses: Iterable[tuple[cst.Call, str]] = ()) -> tuple[AskedObject, ...]:
        """The parameters whose objects get the scaler as an argument of a method, compute a loss, or are the device of a region,
        and what makes losses, each once.

        Args:
            losses: the calls of losses that nothing in the file makes, each with the only class that makes a difference there.
        """
        place = self._file.source.place
        if place is None:
            return ()
        criteria = [(call.func, only) for call, only in losses]
        params = [(param, "") for each in self._receivers() for param in self._params(each)]
        # Where calls in this file give the criterion, they are followed.
        given = ((param, only) for one, only in criteria for param in self._params(one))
        params += [(param, only) for param, only in given if not self._file.flow.given_to(param)]
        params += [(param, DEVICE) for param in self._devices() if not self._file.flow.given_to(param)]
        taken = ((taker_of(param, self._tree, self._classes), param.name.value, only) for param, only in params)
        asked = [each for each in taken if each[0]]
        held = ((each, only) for criterion, only in criteria for each in self._objects.held(criterion))
        made = ((each, only) for each, only in held if isinstance(each, cst.Call) and self._may_be_of_project(each))
        asked += [("", made_by(each), only) for each, only in made]
        return tuple(dict.fromkeys(AskedObject(os.fspath(place.path), *each) for each in asked))

    def _devices(self) -> Iterator[cst.Param]:
        """The parameters of which nothing tells whether they are devices, or their names, that regions are entered with."""
        for given in self._file.fact(DevicesElsewhere).taken:
            yield from (each for each in self._params(given) if each.annotation is None and each.default is None)

    def _may_be_of_project(self, call: cst.Call) -> bool:
        """Whether another file of the project may define what is called."""
        libraries = any(meaning.startswith(("torch.", "builtins.")) for meaning in self._names.resolve(call.func))
        return bool(made_by(call)) and not libraries and self._names.function(call.func) is None

    def _receivers(self) -> Iterator[cst.BaseExpression]:
        """The objects of unknown classes to which methods belong that are given the scaler, or that train in a region."""
        for call in self._tree.find(cst.Call):
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
            if receiver is None or path_of(receiver) in ("", "self"):
                continue
            if not (self._is_given_scaler(call) or self._trains_in_region(call, receiver)):
                continue
            if self._objects.class_of(receiver) is None:
                yield receiver

    def _is_given_scaler(self, call: cst.Call) -> bool:
        return self._names_scalers and any(self._roles.of(arg.value).role == "scaler" for arg in call.args)

    @cached_property
    def _names_scalers(self) -> bool:
        return "caler" in self._file.source.text

    def _trains_in_region(self, call: cst.Call, receiver: cst.BaseExpression) -> bool:
        """Whether a method that trains, to judge by its name, is called in a region of half precision."""
        if _TRAINS.search(called_name(call)) is None or self._roles.of(receiver).role in _STEPPING:
            return False
        return any(region.lowers for region, _ in self._file.contexts.entries(call))

    def _params(self, instance: cst.BaseExpression) -> Iterator[cst.Param]:
        """The parameter that an object comes from: itself, or what the constructor keeps as this attribute."""
        owner = self._classes.owner(instance)
        if isinstance(instance, cst.Name):
            sources: list[cst.BaseExpression] = [instance]
        elif path_of(instance).startswith("self.") and path_of(instance).count(".") == 1 and owner is not None:
            sources = [each for each in owner.values(path_of(instance)[5:]) if path_of(each) != "None"]
        else:
            return
        for name in sources:
            bound = self._names.bindings(name.value, name) if isinstance(name, cst.Name) else []
            if len(bound) == 1 and isinstance(bound[0].node, cst.Param):
                yield bound[0].node
