"""Forward passes: which calls are of a model, in which regions, and whether in training or in evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.model.events import Region
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.classes import ClassInfo
from amplint.syntax.names import UNKNOWN
from amplint.syntax.words import words

_MODEL_METHODS = frozenset({"parameters", "named_parameters", "train", "eval", "requires_grad_"})
_PARALLEL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_EVALUATING = re.compile(r"(^|_)(eval|evaluate|validate|validation|val|test|predict|infer|inference)(_|$)")
_HARMLESS = re.compile(r"sync|tim(e|ing)|profil|record|progress|average|ema($|_)|lock|log", re.IGNORECASE)
"""What a context is called that measures, shows or exchanges weights: no region."""
_MAX_CALLERS = 3

Entry = tuple[Region, cst.BaseExpression]
"""A region, and the expression that enters it."""


@dataclass(frozen=True)
class ForwardPass:
    """A forward pass: its call, the identity of its model in this file, the regions around it, outermost first.

    `trains` and `evaluates` say what it is for, as far as that can be told, and `obscure` that a context around it may be a
    region for all that this file tells.
    """

    call: cst.Call
    model: str
    entries: tuple[Entry, ...]
    trains: bool
    evaluates: bool
    obscure: bool = False

    @property
    def entry(self) -> Entry | None:
        """The autocast region that decides its precision; None where there is none, or it is switched off."""
        regions = [entry for entry in self.entries if entry[0].device != "grad"]
        return regions[-1] if regions and regions[-1][0].lowers else None


class Forwards:
    """The forward passes of one file."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._tree, self._names = file.tree, file.names

    @cached_property
    def passes(self) -> tuple[ForwardPass, ...]:
        """All of them in source order; one for each way in which this file is seen to come to the call."""
        return tuple(each for call in self._tree.find(cst.Call) for each in self._passes(call))

    def of_training(self, model: str) -> list[ForwardPass]:
        """Those of a model in training."""
        return [each for each in self.passes if each.model == model and each.trains]

    def unlike_training(self) -> Iterator[tuple[ForwardPass, ForwardPass]]:
        """The evaluations that run in no autocast region, each with a training pass of the same model that does.

        A call that this file comes to inside of a region, or of a context that may be one, is none of them; nor are those of
        a model that is both trained and evaluated in a region and out of it, for then there is a choice.
        """
        covered = {each.call for each in self.passes if each.entry is not None or each.obscure}
        chosen = self._chosen()
        done: set[cst.Call] = set()
        for each in self.passes:
            training = next((other for other in self.of_training(each.model) if other.entry is not None), None)
            if not each.evaluates or training is None or each.model in chosen or each.call in covered | done:
                continue
            if self.autocasts_itself(each):
                continue
            done.add(each.call)
            yield each, training

    def _chosen(self) -> set[str]:
        kinds: dict[str, set[tuple[bool, bool]]] = {}
        for each in self.passes:
            if each.trains or each.evaluates:
                kinds.setdefault(each.model, set()).add((each.trains, each.entry is None))
        return {model for model, seen in kinds.items() if len(seen) == 4}

    # -- models ----------------------------------------------------------------------------------------------------

    def _model(self, call: cst.Call) -> str:
        """The identity of the model that a call runs; empty for other calls."""
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value == "forward":
            func = func.value
        path = path_of(func)
        if path in ("", "self") or not self._is_model(func, path):
            return ""
        owner = self._file.classes.owner(call) if path.startswith("self.") else None
        method = owner.method(path[len("self.") :]) if owner is not None else None
        if method is not None and not method.decorators:  # a property may be the model
            return ""
        return f"{owner.lineage[-1].name}.{path[len('self.') :]}" if owner is not None else path

    def _is_model(self, func: cst.BaseExpression, path: str) -> bool:
        if isinstance(func, cst.Name) and any(each.qualified for each in self._names.bindings(func.value, func)):
            return False
        values = [_innermost(value) for value in self._file.roles.values(func) if isinstance(value, cst.Call)]
        if any(self._makes_loss(value) for value in values):
            return False
        made = any(self._makes_module(value) for value in values)
        return made or path in self._used_as_model or vocabulary.MODEL.search(path.rpartition(".")[2]) is not None

    def _makes_module(self, value: cst.Call) -> bool:
        info = self._file.classes.instance_of(value)
        if info is not None:
            return _is_module(info)
        return any(name.startswith("torch.nn.") for name in self._names.resolve(value.func))

    def _makes_loss(self, value: cst.Call) -> bool:
        return any(name.endswith("Loss") for name in self._names.resolve(value.func))

    @cached_property
    def _used_as_model(self) -> frozenset[str]:
        methods = [call.func for call in self._tree.find(cst.Call) if isinstance(call.func, cst.Attribute)]
        return frozenset(path_of(func.value) for func in methods if func.attr.value in _MODEL_METHODS) - {"", "self"}

    def is_data_parallel(self, each: ForwardPass) -> bool:
        """Whether the model of a pass is, at least at times, a `DataParallel`."""
        return any(self._names.all_in(value.func, _PARALLEL) for value in self.wrappers(each))

    def wrappers(self, each: ForwardPass) -> list[cst.Call]:
        """The calls that may have made the model of a pass, in its own function or in those that hand it over."""
        func = each.call.func
        found = list(self._file.roles.values(func))
        home = self._tree.enclosing(each.call, cst.FunctionDef)
        if isinstance(func, cst.Name) and isinstance(home, cst.FunctionDef):
            for call in self._file.callees.callers(home):
                given = given_by(call, home, func.value)
                found += self._file.roles.values(given) if given is not None else ()
        return [_innermost(value) for value in found if isinstance(value, cst.Call)]

    def autocasts_itself(self, each: ForwardPass) -> bool:
        """Whether the model of a pass may enter a region in its own `forward`."""
        infos = {self._file.classes.instance_of(value) for value in self._file.roles.values(each.call.func)}
        known = [info for info in infos if info is not None]
        modules = known or [info for info in self._file.classes.own if _is_module(info)]
        return any(self._enters(method) for info in modules for method in info.methods.values())

    def _enters(self, function: cst.FunctionDef) -> bool:
        decorating = self._file.contexts.decorating(function)
        inside = [item for item in self._tree.find(cst.WithItem) if function in self._tree.ancestors(item)]
        regions = [*decorating, *(self._file.contexts.of(item.item) for item in inside)]
        return any(region is not None and region.lowers for region in regions)

    # -- passes ----------------------------------------------------------------------------------------------------

    def _passes(self, call: cst.Call) -> Iterator[ForwardPass]:
        model = self._model(call)
        if model:
            for chain in self._chains(call, 0):
                entries = tuple(entry for node in reversed(chain) for entry in self._file.contexts.entries(node))
                evaluates = any(region.device == "grad" for region, _ in entries)
                homes = [self._tree.enclosing(node, cst.FunctionDef) or self._tree.module for node in chain]
                propagates = homes[0] in self._propagating_by_helper or any(home in self._propagating for home in homes)
                trains = not evaluates and propagates
                evaluates = evaluates or (not trains and any(map(_is_called_evaluation, homes)))
                obscure = any(map(self._is_in_obscure_context, chain))
                yield ForwardPass(call, model, entries, trains, evaluates, obscure)

    def _is_in_obscure_context(self, call: cst.Call) -> bool:
        """Whether a `with` around a call in its function enters what nobody can tell from here."""
        for above in self._tree.ancestors(call):
            if isinstance(above, cst.FunctionDef):
                return False
            if isinstance(above, cst.With) and any(self._is_obscure(item.item, _MAX_CALLERS) for item in above.items):
                return True
        return False

    def _is_obscure(self, context: cst.BaseExpression, depth: int) -> bool:
        if self._file.contexts.of(context) is not None:
            return False
        func = context.func if isinstance(context, cst.Call) else context
        behind = self._file.contexts.behind(func)
        if behind:
            return depth == 0 or any(self._is_obscure(each, depth - 1) for each in behind)
        meanings = self._names.resolve(func)
        if UNKNOWN not in meanings:
            return (
                any(self._file.imports.is_own(name) for name in meanings) and self._file.imports.defined(func) is None
            )
        owner = self._file.classes.owner(func)
        method = owner.method(func.attr.value) if owner is not None and isinstance(func, cst.Attribute) else None
        return method is None and _HARMLESS.search(path_of(func)) is None

    def _chains(self, call: cst.Call, depth: int) -> Iterator[tuple[cst.Call, ...]]:
        """A call, the call of its function, and so on; the parts of a module are no models of their own."""
        home = self._tree.enclosing(call, cst.FunctionDef)
        is_part = isinstance(home, cst.FunctionDef) and home.name.value == "forward"
        callers = self._file.callees.callers(home) if depth < _MAX_CALLERS and not is_part else ()
        if not callers:
            yield (call,)
        for caller in callers:
            yield from ((call, *chain) for chain in self._chains(caller, depth + 1))

    @cached_property
    def _propagating(self) -> set[cst.CSTNode]:
        """The functions that run a backward pass."""
        calls = [
            call for call, _ in (*self._file.flow.methods("backward"), *self._file.flow.methods("manual_backward"))
        ]
        calls += filter(_steps_by_scaler, self._tree.find(cst.Call))
        return {self._tree.enclosing(call, cst.FunctionDef) or self._tree.module for call in calls}

    @cached_property
    def _propagating_by_helper(self) -> set[cst.CSTNode]:
        """The functions that call one that runs a backward pass."""
        helpers = (home for home in self._propagating if isinstance(home, cst.FunctionDef))
        calls = (call for helper in helpers for call in self._file.callees.callers(helper))
        return {self._tree.enclosing(call, cst.FunctionDef) or self._tree.module for call in calls}


def _steps_by_scaler(call: cst.Call) -> bool:
    """Whether a call gives a loss to a scaler's wrapper, which runs the backward pass and the step:
    `loss_scaler(loss, optimizer)`."""
    name = called_name(call)
    if not name[:1].islower() or vocabulary.SCALER.search(name) is None:
        return False
    return any("loss" in word for arg in call.args for word in words(arg))


def _innermost(call: cst.Call) -> cst.Call:
    """The construction at the bottom of a chain of methods: `DataParallel(net).cuda()`."""
    while isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Call):
        call = call.func.value
    return call


def _is_module(info: ClassInfo) -> bool:
    return any("torch.nn.Module" in base.base_names for base in info.lineage)


def _is_called_evaluation(home: cst.CSTNode) -> bool:
    return isinstance(home, cst.FunctionDef) and _EVALUATING.search(home.name.value) is not None
