"""What calls give: what functions return, objects of classes, and what is built by its name from a registry."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

from amplint.callgraph import containers, factories
from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Scope
from amplint.callgraph.module_values import ModuleValues
from amplint.callgraph.named_values import Held, Wanted
from amplint.callgraph.parameters import asked_constants, given_to_constructor
from amplint.callgraph.registries import Registries, key
from amplint.callgraph.subclasses import Subclasses
from amplint.model.caller_contexts import Given
from amplint.model.torch import layers

_BY_NAME = "create_model()"
"""What gives back one of the models that are registered with timm."""
HANDS_ON = {name.rpartition(".")[2] for name in layers.WRAPPERS} | {"partial", "script"}
"""What gives back, or calls, what it is given first."""


class CallValues(ModuleValues, ABC):
    """Follows calls to what they may give back."""

    subclasses: Subclasses
    _registries: Registries

    @abstractmethod
    def _of_table(self, path: Path, table: ast.expr, wanted: str, scope: Scope, hops: int) -> Iterator[Held]:
        """What an element of a table, or of a registry, may hold: that of a key, or, where no literal names it, any.

        Args:
            path: the file.
            table: the table.
            wanted: the key, or "".
            scope: the function that the table stands in.
            hops: through how many names and functions it was come by.
        """

    def _of_call(self, path: Path, call: ast.Call, scope: Scope, wanted: Wanted, hops: int) -> Iterator[Held]:
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        called = call.func.attr if isinstance(call.func, ast.Attribute) else spelling_of(call.func)
        named = key(self._texts.filled(call.args[0], scope)) if call.args else ""
        if called in HANDS_ON and call.args:
            yield from self._of(path, call.args[0], scope, wanted, hops + 1)
        elif base is not None and called in layers.SAME_MODULE:
            yield from self._of(path, base, scope, wanted, hops + 1)
        elif containers.is_container(call):  # an element of it is meant
            yield from self._of_table(path, call, "", scope, hops + 1)
        elif base is not None and called == "get":
            yield from self._of_table(path, base, named, scope, hops + 1)
        elif (registry := self._registries.built_from(path, call, scope)) is not None:
            yield from (each._replace(made=True) for each in self._of_table(path, registry, named, scope, hops + 1))
        elif models := self._registries.models_for(path, call, scope):
            wanted_ones = [each for name, each in models if name == named] if named else [each for _, each in models]
            for each in wanted_ones:
                made = self._returned(each, "", hops + 1)
                yield from (one._replace(registry=None if named else (path, _BY_NAME)) for one in made)
        elif called == "getattr" and len(call.args) > 1:
            yield from self._of_module(path, call.args[0], self._texts.filled(call.args[1], scope), scope, hops)
        else:
            yield from self._of_result(path, call, scope, wanted, hops)

    def _of_result(self, path: Path, call: ast.Call, scope: Scope, wanted: Wanted, hops: int) -> Iterator[Held]:
        made_by = factories.method_of_class(self.definitions, path, call.func, scope)
        own = factories.own_methods(self.definitions, self.subclasses, path, call.func, scope)
        if made_by is not None or own:
            for method in own if made_by is None else (made_by,):
                yield from self._returned(method, wanted, hops + 1)
            return
        inherited = factories.made_by_inherited(self.definitions, path, call.func, scope)
        owner = inherited or factories.class_around(self.definitions, path, call.func, scope)
        for each in [Held(owner)] if owner is not None else self._of(path, call.func, scope, hops=hops + 1):
            if isinstance(each.definition.node, ast.ClassDef):
                if not (each.made or isinstance(wanted, int)):
                    yield each._replace(made=True, given=tuple(self._given(path, call, scope, each.definition)))
            else:
                beside = path == each.definition.path
                with self._texts.given_by(call, each.definition.node, beside) as chooses:
                    returned = [*self._returned(each.definition, wanted, hops + 1)]
                home = (each.definition.path, each.definition.node.name) if chooses else None
                # Whatever the texts are, it is one function that chooses.
                yield from (one._replace(registry=one.registry or home) for one in self._named_by(call, returned))

    def _given(self, path: Path, call: ast.Call, scope: Scope, owner: Definition) -> Iterator[tuple[str, Given]]:
        """What a call gives to a constructor that decides on the object, or is a class of the same file as its own."""
        assert isinstance(owner.node, ast.ClassDef)
        yield from asked_constants(owner.node, call)
        for name, given in given_to_constructor(owner.node, call):
            value = self._texts.filled(given, scope)
            found = self.definitions.find(path, spelling_of(value), scope) if isinstance(value, ast.Name) else None
            if found is not None and found.path == owner.path and isinstance(found.node, ast.ClassDef):
                yield name, (found.node.name,)

    def _named_by(self, call: ast.Call, held: Iterable[Held]) -> Iterator[Held]:
        """What a function returns, but of what it takes from a registry only what a literal names: `build({"type": "dice"})`."""
        named = next(filter(None, (key(each) for each in call.args if isinstance(each, ast.Dict | ast.Call))), "")
        for each in held:
            if named_registry(each.registry) is None or not named:
                yield each
                continue
            assert each.registry is not None
            path, registry = each.registry
            under = self._of_table(path, ast.Name(registry, ast.Load()), named, None, 0)
            if any(other.definition == each.definition for other in under):
                yield each._replace(registry=None)

    def _returned(self, function: Definition, wanted: Wanted, hops: int) -> Iterator[Held]:
        found = False
        for each in self._shown_by_returns(function, wanted, hops):
            found = True
            yield each
        if not found and not isinstance(function.node, ast.ClassDef):
            told = factories.annotated(self.definitions, function.path, function.node.returns)
            yield from (Held(told, made=True),) if told is not None else ()

    def _shown_by_returns(self, function: Definition, wanted: Wanted, hops: int) -> Iterator[Held]:
        for node in ast.walk(function.node):
            if not isinstance(node, ast.Return) or node.value is None:
                continue
            scope = function.node if not isinstance(function.node, ast.ClassDef) else None
            if factories.is_defined_in(function.node, node.value):
                yield Held(function, made=True)
                continue
            if not isinstance(node.value, ast.Tuple):
                yield from self._of(function.path, node.value, scope, wanted, hops)
                continue
            for index, part in enumerate(node.value.elts):
                if wanted == (index if isinstance(wanted, int) else spelling_of(part)):
                    yield from self._of(function.path, part, scope, "", hops)


def named_registry(registry: tuple[Path, str] | None) -> tuple[Path, str] | None:
    """A registry or table, if it has a name in its file by which it can be looked up again.

    Args:
        registry: its file, and what it is called there.
    """
    return registry if registry is not None and registry[1].isidentifier() else None
