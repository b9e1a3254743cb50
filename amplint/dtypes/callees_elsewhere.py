"""What the calls of a file give to functions of other files, for the file that defines them, and what those give back:
regions and dtypes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import libcst as cst

from amplint.dtypes.literals import joined
from amplint.dtypes.objects_elsewhere import ObjectsElsewhere, source_path
from amplint.dtypes.shapes import shape_of, value_of
from amplint.dtypes.values import Operation, Tensor, Value, with_tensors
from amplint.file import File
from amplint.model.caller_contexts import IN_BASES, OR_ATTRIBUTE, CallerContext, CallManner, Target, distinct
from amplint.model.records import changed
from amplint.model.torch.operators import OPERATORS
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import is_only_announced


class CalleesElsewhere:
    """Tells which functions of other files the calls of one file run, and how.

    Args:
        file: the file that calls.

    Attributes:
        answered: the calls of which other files have said what is given back.
    """

    def __init__(self, file: File) -> None:
        self._file, self._objects = file, ObjectsElsewhere(file)
        self._targets: dict[cst.Call, tuple[Target, ...]] = {}
        self._results = {each.way: each for each in file.results}
        self.answered: set[cst.CSTNode | None] = set()

    def contexts(
        self, calls: Mapping[Operation, bool], asked: Container[Operation], normalised: Container[Operation] = ()
    ) -> tuple[CallerContext, ...]:
        """How the functions that calls run are entered.

        Args:
            calls: the calls, each with whether a loss is computed there.
            asked: the calls of which it matters what they give back.
            normalised: the calls of which that may be normalised before it goes into a loss.
        """
        found = (
            (call, context) for call, loss in calls.items() for context in self._contexts(call, loss, call in asked)
        )
        return distinct(context._replace(normalised=call in normalised) for call, context in found)

    def result(self, call: Operation) -> Value | None:
        """What a call of a function of another file gives back; None where nobody says so.

        Args:
            call: the call.
        """
        if not self._results or "*" in call.arguments.keywords:
            return None
        found = [self._results.get(way) for way in self._ways(call)]
        told = [each for each in found if each is not None]
        if not told or len(told) < len(found):
            return None
        self.answered.add(call.node)
        value = joined([value_of(shape) for each in told for shape in each.shapes])
        if call.region is not None and call.region.widens and any(_runs_module(each.way.target) for each in told):
            value = with_tensors(value, Tensor.maybe_widened)
        if all(each.sure for each in told):
            return value
        return with_tensors(value, lambda tensor: changed(tensor, sure=False))

    def _contexts(self, call: Operation, loss: bool, asks: bool) -> Iterator[CallerContext]:
        for way in self._ways(call):
            entered = self._entered(call.node)
            start, end = self._file.range(entered)
            # Of data no gradient is wanted; an object may have weights of its own.
            learns = way.target.made or any(tensor.through or tensor.half for tensor in call.arguments.tensors)
            yield CallerContext(
                way.target, way.region, way.differentiates, loss and learns, way.arguments,
                source_path(self._file.source), start.row, start.column, asks, end.row, end.column, entered is call.node,
            )  # fmt: skip

    def _ways(self, call: Operation) -> Iterator[CallManner]:
        """The functions that a call may run, and how."""
        assert isinstance(call.node, cst.Call)
        if call.node not in self._targets:
            self._targets[call.node] = tuple(self._functions(call.node.func))
        if not self._targets[call.node]:
            return
        given = [(str(index), value) for index, value in enumerate(call.arguments.values)]
        given += list(call.arguments.keywords.items())
        given = [] if self._is_chain(call.node.func) else given
        shapes = tuple((name, shape_of(value)) for name, value in given)
        for target in self._targets[call.node]:
            region = call.region
            if region is not None and _runs_module(target):  # within what a library has prepared nothing is widened
                region = changed(region, widens=False)
            yield CallManner(target, region, call.differentiates, shapes)

    def _entered(self, call: cst.CSTNode) -> cst.CSTNode:
        """Where the region around a call is entered; the call itself where that is the affair of a caller."""
        lowering = [entering for region, entering in self._file.contexts.entries(call) if region.lowers]
        return lowering[-1] if lowering else call

    def _functions(self, func: cst.BaseExpression) -> list[Target]:
        func = self._method_named(func)
        named = self._objects.places(func)
        if named:
            return [Target(path, name) for path, name in named]
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call) and path_of(func.value.func) == "super":
            return self._in_bases(func)
        methods, held = self._methods(func), self._objects.made(func, "")
        known = [target for target in methods if target.file] or [target for target in held if target.file]
        if known:
            return known
        if methods and held:  # which of both it is, the class of the object tells
            methods = [target._replace(lookup=OR_ATTRIBUTE) for target in methods]
        return [*self._left_to_subclasses(func), *(methods or held)]

    def _method_named(self, func: cst.BaseExpression) -> cst.BaseExpression:
        """The method of an object for which a local name stands: `self.model.get_loss` of `get_loss`."""
        bindings = self._file.names.bindings(func.value, func) if isinstance(func, cst.Name) else []
        value = bindings[0].value if len(bindings) == 1 else None
        is_local = value is not None and self._file.tree.function(value) is self._file.tree.function(func)
        return value if isinstance(value, cst.Attribute) and is_local else func

    def _methods(self, func: cst.BaseExpression) -> list[Target]:
        """The methods that a call may run of what something in another file makes."""
        if not isinstance(func, cst.Attribute) or path_of(func.value) == "self":
            return []
        targets = self._objects.made(func.value, func.attr.value)
        return [each for each in targets if _is_made_by_class(each)] if _is_common(func.attr.value) else targets

    def _in_bases(self, func: cst.Attribute) -> list[Target]:
        """The method of `super()`, if a base of another file has it."""
        owner = self._file.tree.enclosing(func, cst.ClassDef)
        if not isinstance(owner, cst.ClassDef) or owner not in self._file.tree.module.body:
            return []
        return [Target(source_path(self._file.source), f"{owner.name.value}()", True, func.attr.value, lookup=IN_BASES)]

    def _left_to_subclasses(self, func: cst.BaseExpression) -> Iterator[Target]:
        """The method that an object calls on itself, if its class has none of that name and puts nothing there, or only
        announces it."""
        spelling, owner = path_of(func), self._file.tree.enclosing(func, cst.ClassDef)
        this, _, name = spelling.partition(".")
        if this != "self" or "." in name or not isinstance(owner, cst.ClassDef):
            return
        if owner not in self._file.tree.module.body:
            return
        info = self._file.classes.of(owner)
        method = info.method(name or "forward")
        is_put_there = any(path_of(value) != "None" for value in info.values(name))
        if method is None and not is_put_there or method is not None and is_only_announced(method):
            yield Target(source_path(self._file.source), f"{owner.name.value}()", True, name, self._switch(func))

    def _switch(self, node: cst.CSTNode) -> str:
        """The attribute of `self` that the region around a node is switched by; empty for none."""
        entries = self._file.contexts.entries(node)
        chosen = self._file.contexts.chosen_by(entries[-1][1]) if entries else None
        this, _, name = path_of(chosen.test).partition(".") if chosen is not None else ("", "", "")
        return name if this == "self" and "." not in name else ""

    def _is_chain(self, func: cst.BaseExpression) -> bool:
        """Whether a call runs several modules in turn: only the first of them gets what the call is given."""
        held = [value for value in self._file.callees.objects.held(func) if isinstance(value, cst.Call)]
        return any(self._file.names.all_in(value.func, {"torch.nn.Sequential"}) for value in held)


def _runs_module(target: Target) -> bool:
    """Whether an object of another file is called, as modules are."""
    return target.made and target.method in ("", "forward")


def _is_made_by_class(target: Target) -> bool:
    """Whether a method is one of what a class of another file makes, to judge by the case of its name: `VAE(...)`."""
    return bool(target.file) and target.made and target.name.partition("(")[0].rpartition(".")[2][:1].isupper()


_CONTAINERS = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))


def _is_common(method: str) -> bool:
    """Whether a method is one of tensors, or of Python's own types."""
    return method in _CONTAINERS or method in OPERATORS
