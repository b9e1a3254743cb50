"""What the calls of a file give to functions of other files, for the file that defines them, and what those give back:
regions and dtypes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import libcst as cst

from amplint.dtypes.literals import joined
from amplint.dtypes.shapes import shape_of, value_of
from amplint.dtypes.values import Operation, Tensor, Value, with_tensors
from amplint.file import File
from amplint.model.caller_contexts import IN_BASES, OR_ATTRIBUTE, CallerContext, CallManner, Target, distinct
from amplint.model.records import changed
from amplint.model.torch import layers
from amplint.model.torch.operators import OPERATORS
from amplint.source import Source
from amplint.syntax.access_paths import literal_key, path_of
from amplint.syntax.class_info import is_only_announced
from amplint.syntax.loop_elements import paired

_MOST_NAMES = 3
"""From one name of an object to another one, so many times."""
_MOST_TEXT = 200
"""So long a call may be to be read in another file with all that it is given."""


class CalleesElsewhere:
    """Tells which functions of other files the calls of one file run, and how.

    Args:
        file: the file that calls.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._targets: dict[cst.Call, tuple[Target, ...]] = {}
        self._results = {each.way: each for each in file.results}

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
                _path(self._file.source), start.row, start.column, asks, end.row, end.column, entered is call.node,
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
        named = self._places(func)
        if named:
            return [Target(path, name) for path, name in named]
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call) and path_of(func.value.func) == "super":
            return self._in_bases(func)
        methods, held = self._methods(func), self._made(func, "")
        known = [target for target in methods if target.file] or [target for target in held if target.file]
        if known:
            return known
        if methods and held:  # which of both it is, the class of the object tells
            methods = [target._replace(lookup=OR_ATTRIBUTE) for target in methods]
        return [*self._left_to_subclasses(func), *(methods or held)]

    def _methods(self, func: cst.BaseExpression) -> list[Target]:
        """The methods that a call may run of what something in another file makes."""
        if not isinstance(func, cst.Attribute) or path_of(func.value) == "self":
            return []
        targets = self._made(func.value, func.attr.value)
        return [each for each in targets if _is_made_by_class(each)] if _is_common(func.attr.value) else targets

    def _in_bases(self, func: cst.Attribute) -> list[Target]:
        """The method of `super()`, if a base of another file has it."""
        owner = self._file.tree.enclosing(func, cst.ClassDef)
        if not isinstance(owner, cst.ClassDef) or owner not in self._file.tree.module.body:
            return []
        return [Target(_path(self._file.source), f"{owner.name.value}()", True, func.attr.value, lookup=IN_BASES)]

    def _left_to_subclasses(self, func: cst.BaseExpression) -> Iterator[Target]:
        """The method that an object calls on itself, if its class has none of that name, or only announces it."""
        spelling, owner = path_of(func), self._file.tree.enclosing(func, cst.ClassDef)
        this, _, name = spelling.partition(".")
        if this != "self" or "." in name or not isinstance(owner, cst.ClassDef):
            return
        if owner not in self._file.tree.module.body:
            return
        method = self._file.classes.of(owner).method(name or "forward")
        if method is None or is_only_announced(method):
            yield Target(_path(self._file.source), f"{owner.name.value}()", True, name, self._switch(func))

    def _switch(self, node: cst.CSTNode) -> str:
        """The attribute of `self` that the region around a node is switched by; empty for none."""
        entries = self._file.contexts.entries(node)
        chosen = self._file.contexts.chosen_by(entries[-1][1]) if entries else None
        this, _, name = path_of(chosen.test).partition(".") if chosen is not None else ("", "", "")
        return name if this == "self" and "." not in name else ""

    def _places(self, node: cst.BaseExpression) -> list[tuple[str, str]]:
        """The files of the project, each with a name in it, that an expression may stand for."""
        found = [self._file.imports.place(meaning) for meaning in self._file.names.resolve(node)]
        return sorted({(str(path), name) for each in found if each is not None for path, name in [each]})

    def _made(self, instance: cst.BaseExpression, method: str, hops: int = 0) -> list[Target]:
        """The methods that may be called on an object which something in another file makes, or functions that it holds."""
        callees = self._file.callees
        if isinstance(instance, cst.IfExp):
            return [*self._made(instance.body, method, hops), *self._made(instance.orelse, method, hops)]
        instance = self._collection(_inside(instance))
        objects = [value for value in callees.objects.held(instance) if not self._is_unpacked(value)]
        key = literal_key(instance)
        held = {
            (path, f"{text}[{key!r}]" if key and objects and not self._is_element(value) else text)
            for value in objects or [instance]
            for path, text in self._expressions(callees.objects.unwrapped(value))
        }
        if held:
            return [Target(path, text, True, method) for path, text in sorted(held)]
        same = self._first_name(instance, objects) or self._given_here(instance, objects)
        if same is not None and hops < _MOST_NAMES:
            return self._made(same, method, hops + 1)
        whole = instance.value if key and isinstance(instance, cst.Subscript) else instance
        name = path_of(whole).rpartition(".")[2]
        element = f"[{key!r}]" if key else ""
        return [Target("", f"{name}{element}", True, method)] if name and self._is_given(whole) else []

    def _first_name(
        self, instance: cst.BaseExpression, objects: Sequence[cst.BaseExpression]
    ) -> cst.BaseExpression | None:
        """The name that an object had before it got the one that an expression calls it by: `model` of `net`, and of
        `unwrap_model(model)`, where `net = model.module if is_wrapped else model`."""
        if not isinstance(instance, (cst.Name, cst.Call)):
            return None
        behind = [_inside(self._file.callees.objects.unwrapped(each)) for each in objects or [instance]]
        names = {path_of(each) if isinstance(each, (cst.Name, cst.Attribute)) else "" for each in behind}
        return behind[0] if len(names) == 1 and names.isdisjoint({"", path_of(instance)}) else None

    def _given_here(
        self, instance: cst.BaseExpression, objects: Sequence[cst.BaseExpression]
    ) -> cst.BaseExpression | None:
        """What the only call in this file gives to the parameter that an object was: `net` of `Trainer(net)`."""
        param = objects[0] if len(objects) == 1 else instance
        given = list(self._file.flow.given(param)) if isinstance(param, cst.Name) else []
        return given[0] if len(given) == 1 else None

    def _is_element(self, value: cst.BaseExpression) -> bool:
        """Whether a value stands in a display of a dict: it is what the key leads to, and no holder of it."""
        return isinstance(self._file.tree.parent(value), cst.DictElement)

    def _collection(self, instance: cst.BaseExpression) -> cst.BaseExpression:
        """What holds a module that a loop takes from it: `self.blocks` of `block` in `for block in self.blocks[:4]`."""
        bindings = self._file.names.bindings(instance.value, instance) if isinstance(instance, cst.Name) else []
        target = bindings[0].node if len(bindings) == 1 else None
        loop = self._file.tree.enclosing(target, cst.For, cst.CompFor) if isinstance(target, cst.Name) else None
        if not isinstance(loop, (cst.For, cst.CompFor)):
            return instance
        source = next((source for name, source in paired(loop.target, loop.iter) if name is target), instance)
        sliced = isinstance(source, cst.Subscript) and isinstance(source.slice[0].slice, cst.Slice)
        return source.value if isinstance(source, cst.Subscript) and sliced else source

    def _is_chain(self, func: cst.BaseExpression) -> bool:
        """Whether a call runs several modules in turn: only the first of them gets what the call is given."""
        held = [value for value in self._file.callees.objects.held(func) if isinstance(value, cst.Call)]
        return any(self._file.names.all_in(value.func, {"torch.nn.Sequential"}) for value in held)

    def _expressions(self, value: cst.BaseExpression) -> list[tuple[str, str]]:
        """What may be held by an expression that something of another file stands in: files, each with an expression there."""
        makers = self._places(value.func) if isinstance(value, cst.Call) else []
        if makers and not (isinstance(value, cst.Call) and self._chooses(value)):
            return [(path, f"{name}({_given_texts(value)})") for path, name in makers]
        tree = self._file.tree.home(value)
        return [(_path(tree.source), tree.text(value))] if self._is_foreign(value) else []

    def _chooses(self, call: cst.Call) -> bool:
        """Whether a function may be told what to make, by a registry or by a name: `build(config, LOSSES)`."""
        if path_of(call.func).rpartition(".")[2][:1].isupper() or len(self._file.tree.text(call)) > _MOST_TEXT:
            return False
        named = (path_of(each.value).rpartition(".")[2] for each in call.args)
        written = (isinstance(each.value, cst.Dict) or _is_dict(each.value) for each in call.args)
        return any(name.isupper() for name in named) or any(written)

    def _is_foreign(self, value: cst.BaseExpression) -> bool:
        """Whether something of another file stands in an expression."""
        tree = self._file.tree
        return any(map(self._places, (*tree.inside(value, cst.Name), *tree.inside(value, cst.Attribute))))

    def _is_unpacked(self, value: cst.BaseExpression) -> bool:
        """Whether only a part of what a call returns is meant."""
        assign = self._file.tree.enclosing(value, cst.Assign)
        if not isinstance(assign, cst.Assign) or isinstance(assign.value, cst.Tuple):
            return False
        return any(isinstance(each.target, cst.Tuple) for each in assign.targets)

    def _is_given(self, instance: cst.BaseExpression) -> bool:
        """Whether an object comes from a caller: as a parameter, as an attribute, or from a call that gives several."""
        if isinstance(instance, cst.Attribute):
            return path_of(instance).startswith("self.")
        bindings = self._file.names.bindings(instance.value, instance) if isinstance(instance, cst.Name) else []
        return bool(bindings) and all(isinstance(each.node, (cst.Param, cst.Name)) for each in bindings)


def _given_texts(call: cst.Call | cst.BaseExpression) -> str:
    """The arguments of a call that makes an object, with all but texts left out: they may be long."""
    args = call.args if isinstance(call, cst.Call) else ()
    texts = [each.value.value if isinstance(each.value, cst.SimpleString) else "" for each in args]
    if not any(texts) or any(each.star for each in args):
        return ""
    names = [f"{each.keyword.value}=" if each.keyword is not None else "" for each in args]
    return ", ".join(f"{name}{text or None}" for name, text in zip(names, texts))


def _is_dict(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and path_of(value.func) == "dict"


def _inside(instance: cst.BaseExpression) -> cst.BaseExpression:
    """What a wrapper around a module was made of: `model` of `model.module`."""
    if isinstance(instance, cst.Attribute) and instance.attr.value in layers.WRAPPED:
        return instance.value if path_of(instance.value) not in ("", "self") else instance
    return instance


def _path(source: Source) -> str:
    return str(source.place.path) if source.place is not None else source.path


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
