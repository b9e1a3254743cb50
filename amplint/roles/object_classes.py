"""Of which class the object is that an expression names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from amplint.model import vocabulary
from amplint.model.torch import layers
from amplint.model.torch.names import GRAD_SCALER
from amplint.roles.annotated_classes import AnnotatedClasses
from amplint.roles.roles import Roles
from amplint.roles.scaler_wrappers import ScalerWrappers, scales_losses, steps_its_own
from amplint.syntax.access_paths import called_name, displayed, path_of
from amplint.syntax.class_info import is_only_announced
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.names import Names
from amplint.syntax.nodes import within
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree

_MAX_NAMES = 3
"""From an object to the name that it was given by, and so on, so many times."""
_MAX_CALLS = 3
"""From a call to the call whose result its function returns, so many times."""
_IN_PROTOCOL = re.compile(r"unscale_|update|scale|backward|zero_grad|clip_grad")
"""What methods of a scaler call that have a part in the protocol, besides `step`."""


class ObjectClasses:
    """Finds the classes of the objects that a file names, if their source is at hand.

    Args:
        tree: the file.
        names: what its names mean.
        classes: the classes in sight.
        imports: leads to the functions of other files.
        roles: what its objects are.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, imports: Imports, roles: Roles) -> None:
        self._tree, self._names, self._classes, self._imports, self._roles = tree, names, classes, imports, roles
        self._wrappers = ScalerWrappers(tree, classes, roles)
        self._annotations = AnnotatedClasses(tree, names, classes, imports)

    def held(self, instance: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What an expression may name when a method of it is called: neither None nor the same object handed on.

        `model = model.cuda()` hands it on.
        """
        path = path_of(instance)
        found: list[cst.BaseExpression] = []
        waiting = list(self._roles.values(instance))
        while waiting:
            value = self.unwrapped(waiting.pop(0))
            if type(value) is cst.IfExp:
                waiting += [value.body, value.orelse]
            elif type(value) is cst.BooleanOperation and type(value.operator) is cst.Or:
                waiting += [value.left, value.right]
            elif path_of(value) not in ("None", path) or not self._is_same(value, instance):
                found.append(value)
        return found

    def _is_same(self, value: cst.BaseExpression, instance: cst.BaseExpression) -> bool:
        """Whether a value with the path of an object is that object, or None: a function that returns it may call another so."""
        is_local = type(value) is cst.Name and value.value != "None"
        return not is_local or self._tree.function(value) is self._tree.function(instance)

    def unwrapped(self, value: cst.BaseExpression) -> cst.BaseExpression:
        """The module that an expression gives back: `net` of `net.cuda()`, `DataParallel(net)` and `unwrap_model(net)`."""
        while type(value) is cst.Call:
            func = value.func
            hands_on = self._names.all_in(func, layers.WRAPPERS) or vocabulary.UNWRAPS.search(called_name(value))
            if value.args and hands_on:
                value = value.args[0].value
            elif type(func) is cst.Attribute and func.attr.value in layers.SAME_MODULE:
                value = func.value
            else:
                break
        return value

    def class_of(self, instance: cst.BaseExpression, abroad: bool = True) -> ClassInfo | None:
        """The class of the object that an expression names, if its source is at hand.

        Args:
            instance: any expression.
            abroad: whether the class may stand in another file.
        """
        return self._class_of(instance, abroad, _MAX_NAMES)

    def method_of(self, instance: cst.BaseExpression, names: Sequence[str], abroad: bool) -> cst.FunctionDef | None:
        """The method that a call on an object runs; of whichever class an option or a list has it, where it is the same in all,
        or does nothing in all others.

        Args:
            instance: the object.
            names: what the method may be called; the first that there is counts.
            abroad: whether the class may stand in another file.
        """
        infos = self._classes_of(instance, abroad, _MAX_NAMES)
        info = self._meant(infos)
        infos = {info} if info is not None else infos
        if len(infos) > 1 and any(each is not None and is_torchs(each) for each in infos):
            return None
        found = {next(filter(None, map(each.method, names)), None) if each is not None else None for each in infos}
        acting = [each for each in found if each is None or len(found) == 1 or not is_only_announced(each)]
        only = acting[0] if len(acting) == 1 else None
        if only is None or self._is_scalers_own(only):
            return None
        raises = is_only_announced(only) and any(isinstance(each, cst.Raise) for each in within(only.body))
        return None if raises else only  # what only raises is another class's: the object is of a subclass

    def _is_scalers_own(self, method: cst.FunctionDef) -> bool:
        """Whether a method of a class derived from torch's scaler leaves what it does to that one: it calls `super().step(...)`,
        and has no part in the protocol besides a plain step where the scaler is off."""
        owner = self._classes.owner(method)
        if owner is None or not _is_scaler(owner):
            return False
        calls = [each for each in within(method.body) if isinstance(each, cst.Call)]
        handed_on = any(self._tree.text(each.func) == f"super().{method.name.value}" for each in calls)
        others = {called_name(each) for each in calls} - {method.name.value}
        return handed_on and not any(map(_IN_PROTOCOL.match, others))

    def _class_of(self, instance: cst.BaseExpression, abroad: bool, names: int) -> ClassInfo | None:
        return self._meant(self._classes_of(instance, abroad, names))

    def _meant(self, infos: set[ClassInfo | None]) -> ClassInfo | None:
        """The only one of several classes; of what an option chooses from, the only one that has to do with a scaler."""
        if len(infos) > 1:
            infos = {info for info in infos if info is not None and self._wrappers.is_one(info)}
        return next(iter(infos)) if len(infos) == 1 else None

    def _classes_of(self, instance: cst.BaseExpression, abroad: bool, names: int) -> set[ClassInfo | None]:
        """The classes that the object which an expression names may be of; None for those whose source is not at hand."""
        if path_of(instance) in ("", "self") or not names:
            return set()
        values = self._objects(instance) or self._elements(instance)
        if not values:
            return {self._annotations.of_parameter(instance, abroad)}
        if type(instance) is cst.Subscript:
            values = [member for value in values for member in displayed(value)]
        found: set[ClassInfo | None] = set()
        for value in values:
            made = self._made(value, abroad, min(names, _MAX_CALLS)) if isinstance(value, cst.Call) else set()
            if any(each is not None and is_torchs(each) for each in made):
                made = {self._classes.instance_of(value, abroad)}
            made = made or (
                self._named(value, abroad, names) if self._annotations.parameter(instance) is None else set()
            )
            found |= made or {self._handed_on(value, abroad, names - 1)}
        return found if found != {None} else {self._annotations.of_variable(instance, abroad)}

    def _named(self, value: cst.BaseExpression, abroad: bool, names: int) -> set[ClassInfo | None]:
        """The classes of what a name stands for that is only ever given what calls make: `net` of `return net, loader`."""
        if type(value) is not cst.Name or self._annotations.parameter(value) is not None:
            return set()
        calls = min(names, _MAX_CALLS)
        made = [self._made(each, abroad, calls) for each in self.held(value) if isinstance(each, cst.Call)]
        known = {info for infos in made for info in infos}
        return known if len(made) == len(self.held(value)) and None not in known else set()

    def _made(self, call: cst.Call, abroad: bool, calls: int) -> set[ClassInfo | None]:
        """The classes of what a call gives back, as a constructor, or as a function or a method that constructs it."""
        info = self._classes.instance_of(call, abroad)
        if info is not None or not calls:
            return {info}
        if type(call.func) is cst.Subscript:
            chosen = (each for value in self._roles.values(call.func.value) for each in displayed(value))
            return {self._classes.named(each, abroad) for each in chosen}
        found: set[ClassInfo | None] = set()
        for value in map(self.unwrapped, self._roles.flow.returned(self._maker(call.func, abroad))):
            if (noted := self._annotations.of_variable(value, abroad)) is not None:
                found.add(noted)
                continue
            for each in (type(value) is cst.Name and self.held(value)) or [value]:
                if isinstance(each, cst.Call):
                    found |= self._made(each, abroad, calls - 1)
                else:  # `return self.task`, of the same object
                    is_kept = type(each) is cst.Attribute and path_of(call.func).startswith("self.")
                    found |= self._classes_of(each, abroad, calls - 1) if is_kept else {None}
        return found

    def _maker(self, called: cst.BaseExpression, abroad: bool) -> cst.FunctionDef | None:
        """The function that is called, the method of the same object (`self.setup()`), or of one that is made for it.

        What functions of libraries make, literals of the call decide.
        """
        if isinstance(called, cst.Attribute):
            own = path_of(called.value) == "self"
            owner = self._classes.owner(called) if own else self._classes.instance_of(called.value, abroad)
            if owner is not None:
                return owner.method(called.attr.value)
        function = self._names.function(called)
        defined = self._imports.defined(called) if function is None and abroad else function
        if not isinstance(defined, cst.FunctionDef) or self._classes.libraries.is_of_wrapper(defined):
            return None
        return defined

    def _objects(self, instance: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What an expression may name; for a parameter that may be left out (`saver=None`), what the calls in sight give, and
        what is made where it is left out."""
        values = self._told(instance)
        found: list[cst.BaseExpression] = []
        for value in values:
            found += self._told(value) if self._is_optional(self._annotations.parameter(value)) else [value]
        return found or values

    def _elements(self, instance: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What a loop takes out of collections that are written out: `[Stepper(a), Stepper(b)]`."""
        sources = [each for source in self._roles.collections(instance) for each in self._roles.flow.meant(source)]
        return [member for source in sources for member in displayed(source) if isinstance(member, cst.Call)]

    def _told(self, instance: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What an expression is given where it stands; a parameter for which nothing else is told, or that may be left out,
        what the calls in sight give, too."""
        held, param = self.held(instance), self._annotations.parameter(instance)
        asked = param is not None and (not held or self._is_optional(param))
        return [*held, *self._roles.flow.given_to(param)] if param is not None and asked else held

    def _is_optional(self, param: cst.Param | None) -> bool:
        """Whether a parameter may be left out, and is None then."""
        return param is not None and param.default is not None and path_of(param.default) == "None"

    def _handed_on(self, instance: cst.BaseExpression, abroad: bool, names: int) -> ClassInfo | None:
        """The class of an object that was handed on by its name: if a parameter is annotated with it, if it is derived from
        torch's scaler, steps through one of its own or one that it is given, or scales losses, or if a wrapper that comes with
        amplint speaks for it."""
        info = self._class_of(instance, abroad, names)
        if info is None or info is self._annotations.of_parameter(instance, abroad):
            return info
        told = self._tree.home(info.node).source.path.endswith(".pyi")
        steps = self._wrappers.is_one(info) or steps_its_own(info) or scales_losses(info)
        return info if told or info.is_module or _is_scaler(info) or steps else None


def _is_scaler(info: ClassInfo) -> bool:
    """Whether a class is derived from a scaler of torch."""
    return any(each.base_names & GRAD_SCALER for each in info.lineage)


def is_torchs(info: ClassInfo) -> bool:
    """Whether a class is derived from an optimizer or a schedule of torch: what its methods do, its role tells.

    Args:
        info: the class.
    """
    return any(name.startswith("torch.optim.") for each in info.lineage for name in each.base_names)
