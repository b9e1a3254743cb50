"""Models: which calls run one, and which one that is, also where a helper or a wrapper knows it by another name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.model.events import Region
from amplint.model.torch import layers
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.classes import ClassInfo
from amplint.syntax.entered_contexts import entered_in

_MODEL_METHODS = frozenset({"parameters", "named_parameters", "train", "eval", "requires_grad_"})
_MAKERS = re.compile(
    r"^(get|build|create|make|load|init|setup|define|prepare|wrap|freeze|count|parse|save)_", re.IGNORECASE
)
"""What functions are called that make a model, or do something to one, and run none."""
_PASSES = frozenset("forward forward_features encode_image encode_text get_image_features get_text_features".split())
"""Methods of a model that compute its outputs, or what they are compared by."""
_GIVES_MODEL = re.compile(rf"^get_model$|{vocabulary.UNWRAPS.pattern}")
"""What helpers are called that give back the module in a wrapper of it."""
_AVERAGED = re.compile(r"(^|[._])(ema|swa)([._]|$)", re.IGNORECASE)
"""What averages of a model's weights are called: `ema.module` stands for the model where another name does."""
_MAX_NAMES = 4


class Models:
    """The models of one file."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._tree, self._names = file.tree, file.names

    def run_by(self, call: cst.Call) -> cst.BaseExpression | None:
        """The model that a call runs, as it is written there; None for other calls."""
        func = call.func
        if type(func) is cst.Attribute and func.attr.value in _PASSES:
            func = self._unwrapped(func.value)
        inner = func.value if type(func) is cst.Attribute and func.attr.value in layers.WRAPPED else func
        path = path_of(func)
        if path_of(inner) in ("", "self") or not (self._is_model(func, path) or self._is_model(inner, path_of(inner))):
            return None
        owner = self._file.classes.owner(call) if path.startswith("self.") else None
        method = owner.method(path[len("self.") :]) if owner is not None else None
        return func if method is None or method.decorators else None  # a property may be the model

    def name(self, model: cst.BaseExpression) -> str:
        """What a model is called; an attribute of `self` by the class that has it."""
        path = path_of(model)
        owner = self._file.classes.owner(model) if path.startswith("self.") else None
        return f"{owner.lineage[-1].name}.{path[len('self.') :]}" if owner is not None else path

    def origin(self, model: cst.BaseExpression) -> cst.BaseExpression:
        """The first name of a model in its function or class: `net` for `ddp` where `ddp = DDP(net)`, and for `ddp.module`."""
        for _ in range(_MAX_NAMES):
            model = self._unwrapped(model)
            choices = (each for value in self._held(model) for each in _choices(value))
            held = [each for value in choices if path_of(each := self._unwrapped(value)) != path_of(model)]
            others = [each for each in held if not _AVERAGED.search(path_of(each))] or held
            if not others or len({path_of(other) for other in others}) > 1 or not path_of(others[0]):
                break
            model = others[0]
        return model

    def _unwrapped(self, node: cst.BaseExpression) -> cst.BaseExpression:
        while True:
            match node:
                case cst.Call(args=[first, *_]) if self._names.all_in(node.func, layers.WRAPPERS):
                    node = first.value
                case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value=name))) if name in layers.SAME_MODULE:
                    node = base
                case cst.Call(args=[only]) if _GIVES_MODEL.search(called_name(node)) and not only.keyword:
                    node = only.value
                case cst.Attribute(value=base, attr=cst.Name(value=name)) if name in layers.WRAPPED:
                    node = base
                case cst.IfExp() if path_of(self._unwrapped(node.body)) == path_of(self._unwrapped(node.orelse)) != "":
                    node = node.body
                case _:
                    return node

    def _held(self, model: cst.BaseExpression) -> list[cst.BaseExpression]:
        """All that a name, or an attribute of `self`, is assigned; empty where that is not known."""
        if isinstance(model, cst.Name):
            values = [each.value for each in self._names.bindings(model.value, model)]
            return [value for value in values if value is not None] if None not in values else []
        owner = self._file.classes.owner(model) if path_of(model).startswith("self.") else None
        held = owner.values(path_of(model)[len("self.") :]) if owner is not None else []
        return held if all(path_of(self._unwrapped(value)).startswith("self.") for value in held) else []

    def given(self, model: cst.BaseExpression, caller: cst.Call) -> cst.BaseExpression | None:
        """What a function is given as the model; None for nothing, and where the model is no parameter.

        Args:
            model: the model, as the function knows it.
            caller: a call of the function.
        """
        home = self._tree.enclosing(model, cst.FunctionDef)
        if not isinstance(home, cst.FunctionDef) or not isinstance(model, cst.Name) or not self.is_parameter(model):
            return None
        return given_by(caller, home, model.value)

    def is_parameter(self, model: cst.BaseExpression) -> bool:
        """Whether a model is given to the function that runs it, so that only its callers know it."""
        while isinstance(model, (cst.Attribute, cst.Subscript)):
            model = model.value
        if not isinstance(model, cst.Name) or model.value == "self":
            return False
        return any(isinstance(each.node, cst.Param) for each in self._names.bindings(model.value, model))

    def is_local(self, model: cst.BaseExpression) -> bool:
        """Whether the function that runs a model has made it itself."""
        home = self._tree.enclosing(model, cst.FunctionDef)
        if not isinstance(model, cst.Name) or home is None or self.is_parameter(model):
            return False
        return model.value in self._names.bindings_in(home)

    def _is_model(self, func: cst.BaseExpression, path: str) -> bool:
        last = path.rpartition(".")[2]
        if vocabulary.LOSS.search(last):
            return False
        if type(func) is cst.Name and any(each.qualified for each in self._names.bindings(func.value, func)):
            return False
        values = [_construction(value) for value in self._file.roles.values(func) if isinstance(value, cst.Call)]
        if any(self._makes_loss(value) for value in values):
            return False
        if any(self._makes_module(value) for value in values) or path in self._used_as_model:
            return True
        return vocabulary.MODEL.search(last) is not None and _MAKERS.search(last) is None

    def _makes_module(self, value: cst.Call) -> bool:
        info = self._file.classes.instance_of(value)
        if info is not None:
            return is_module(info)
        return any(name.startswith("torch.nn.") for name in self._names.resolve(value.func))

    def _makes_loss(self, value: cst.Call) -> bool:
        return any(name.endswith("Loss") for name in self._names.resolve(value.func))

    @cached_property
    def _used_as_model(self) -> frozenset[str]:
        methods = [call.func for call in self._tree.find(cst.Call) if type(call.func) is cst.Attribute]
        return frozenset(path_of(func.value) for func in methods if func.attr.value in _MODEL_METHODS) - {"", "self"}

    def makers(self, call: cst.Call) -> list[cst.Call]:
        """The calls that may have made the model that a call runs, in its own function or in those that hand it over."""
        func = call.func
        found = list(self._file.roles.values(func))
        home = self._tree.enclosing(call, cst.FunctionDef)
        if isinstance(func, cst.Name) and isinstance(home, cst.FunctionDef):
            for caller in self._file.callees.callers(home):
                given = given_by(caller, home, func.value)
                found += self._file.roles.values(given) if given is not None else ()
        found += [made for value in found if path_of(value) for made in self._file.roles.values(value)]
        return [_construction(value) for value in found if isinstance(value, cst.Call)]

    def own_region(self, call: cst.Call) -> Region | None:
        """The first region in half that the model that a call runs may enter in its own `forward`."""
        objects = self._file.callees.objects
        infos = {
            self._file.classes.instance_of(objects.unwrapped(value)) for value in self._file.roles.values(call.func)
        }
        known = [info for info in {*infos, objects.class_of(call.func)} if info is not None]
        modules = known or [info for info in self._file.classes.own if is_module(info)]
        entered = (region for info in modules for method in info.methods.values() for region in self._entered(method))
        return next(entered, None)

    def _entered(self, function: cst.FunctionDef) -> Iterator[Region]:
        decorating = self._file.contexts.decorating(function)
        regions = [*decorating, *map(self._file.contexts.of, entered_in(self._tree, function))]
        yield from (region for region in regions if region is not None and region.lowers)


def _choices(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What a conditional expression may be; any other one alone."""
    return [*_choices(value.body), *_choices(value.orelse)] if isinstance(value, cst.IfExp) else [value]


def _construction(call: cst.Call) -> cst.Call:
    """The construction at the bottom of a chain of methods: `DataParallel(net).cuda()`."""
    while isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Call):
        call = call.func.value
    return call


def is_module(info: ClassInfo) -> bool:
    """Whether a class is known to be a module of PyTorch."""
    return any("torch.nn.Module" in base.base_names for base in info.lineage)
