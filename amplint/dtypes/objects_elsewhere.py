"""What makes the objects of one file, where something of another file does: there their methods are looked up."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.file import File
from amplint.model.caller_contexts import Target
from amplint.model.torch import layers
from amplint.source import Source
from amplint.syntax.access_paths import literal_key, path_of
from amplint.syntax.loop_elements import paired
from amplint.syntax.names import UNKNOWN

_MOST_NAMES = 3
"""From one name of an object to another one, so many times."""
_MOST_TEXT = 200
"""So long a call may be to be read in another file with all that it is given."""


class ObjectsElsewhere:
    """Tells what objects of one file are made of in other files.

    Args:
        file: the file that names the objects.
    """

    def __init__(self, file: File) -> None:
        self._file = file

    def places(self, node: cst.BaseExpression) -> list[tuple[str, str]]:
        """The files of the project, each with a name in it, that an expression may stand for; this file itself for a name that
        a star import must have brought."""
        meanings = self._file.names.resolve(node)
        if meanings == {UNKNOWN} and isinstance(node, cst.Name) and self._file.names.from_stars(node):
            return [(source_path(self._file.source), node.value)]
        found = [self._file.imports.place(meaning) for meaning in meanings]
        return sorted({(str(path), name) for each in found if each is not None for path, name in [each]})

    def made(self, instance: cst.BaseExpression, method: str, hops: int = 0) -> list[Target]:
        """The methods that may be called on an object which something in another file makes, or functions that it holds.

        Args:
            instance: what names the object.
            method: the name of the method; empty for an object that is called itself.
            hops: how many names of it have been followed to get here.
        """
        callees = self._file.callees
        if isinstance(instance, cst.IfExp):
            return [*self.made(instance.body, method, hops), *self.made(instance.orelse, method, hops)]
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
        first = self._first_name(instance, objects)
        same = [first] if first is not None else self._given_here(instance, objects)
        if same and hops < _MOST_NAMES:
            return list(dict.fromkeys(target for each in same for target in self.made(each, method, hops + 1)))
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
    ) -> list[cst.BaseExpression]:
        """What the calls in this file give to the parameter that an object was: `net` of `Trainer(net)`."""
        param = objects[0] if len(objects) == 1 else instance
        return list(self._file.flow.given(param)) if isinstance(param, cst.Name) else []

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

    def _expressions(self, value: cst.BaseExpression) -> list[tuple[str, str]]:
        """What may be held by an expression that something of another file stands in: files, each with an expression there."""
        makers = self.places(value.func) if isinstance(value, cst.Call) else []
        if makers and not (isinstance(value, cst.Call) and self._chooses(value)):
            return [(path, f"{name}({_given_texts(value)})") for path, name in makers]
        tree = self._file.tree.home(value)
        return [(source_path(tree.source), tree.text(value))] if self._is_foreign(value) else []

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
        return any(map(self.places, (*tree.inside(value, cst.Name), *tree.inside(value, cst.Attribute))))

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


def source_path(source: Source) -> str:
    """The path by which other files know one."""
    return str(source.place.path) if source.place is not None else source.path
