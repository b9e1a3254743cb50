"""Which functions of a project, or objects of its classes, an expression of some file may hold."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from amplint.callgraph import containers, factories
from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.callgraph.given_texts import GivenTexts
from amplint.callgraph.handed_arguments import Argument, HandedArguments
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.module_values import MAX_HOPS, ModuleValues
from amplint.callgraph.named_values import Held, Wanted
from amplint.callgraph.parameters import asked_constants, given_to_constructor
from amplint.callgraph.registries import Registries, key
from amplint.callgraph.subclasses import Subclasses
from amplint.model.caller_contexts import Given
from amplint.model.torch import layers

_MAX_STEPS = 1_000
"""Of an expression that leads to more others, the rest is not looked at."""
_BY_NAME = "create_model()"
"""What gives back one of the models that are registered with timm."""
_HANDS_ON = {name.rpartition(".")[2] for name in layers.WRAPPERS} | {"partial", "script"}
"""What gives back, or calls, what it is given first."""


class HeldValues(ModuleValues):
    """Follows expressions to what they may hold: through names, tables, choices, and functions that return something.

    Args:
        graph: the files of the project.

    Attributes:
        subclasses: which classes are derived from which.
    """

    def __init__(self, graph: ImportGraph) -> None:
        super().__init__(Definitions(graph))
        self.subclasses = Subclasses(graph, self.definitions)
        self._registries = Registries(graph, self.definitions)
        self._texts = GivenTexts()
        self._arguments = HandedArguments(self._assigned_values)
        self._running: list[ast.expr] = []
        self._steps = 0

    def under(
        self, path: Path, name: str, element: str = "", apart_from: Collection[Scope] = frozenset()
    ) -> Iterator[Held]:
        """What a file assigns to a name or attribute, or hands over under a name.

        Args:
            path: the file.
            name: the name.
            element: the key of the element that is meant, where it is a table.
            apart_from: the functions that do not count.
        """
        for given in self._assigned_values.of(path, name):
            if given.scope in apart_from:
                continue
            if element and given.part < 0:
                yield from self._of_table(path, given.value, element, given.scope, 0)
            elif not element:
                yield from self._of_given(path, given, name, 0)

    def is_made_by_libraries(self, path: Path, name: str) -> bool:
        """Whether libraries make all that a file gives to a name, and not of what they are handed, as containers and wrappers.

        Args:
            path: the file.
            name: the name.
        """
        makers = self._assigned_values.made(path, name)
        return bool(makers) and all(
            self.definitions.library_name(path, spelling_of(each.func), scope)
            and not (containers.is_container(each) or spelling_of(each.func).rpartition(".")[2] in _HANDS_ON)
            for each, scope in makers
        )

    def arguments(self, function: Definition, name: str, path: Path) -> Sequence[Argument]:
        """What the calls in a file give a function as the parameter of some name.

        Args:
            function: the function, or the class whose constructor it is.
            name: the name of the parameter.
            path: the file with the calls.
        """
        return self._arguments.given(function, name, path, self._called)

    def of_argument(self, path: Path, argument: Argument, name: str, element: str = "") -> Iterator[Held]:
        """What an argument of a call may hold.

        Args:
            path: the file with the call.
            argument: the argument.
            name: the name of the parameter.
            element: the key of the element that is meant, where it is a table.
        """
        value, scope = argument
        yield from self._of_table(path, value, element, scope, 0) if element else self._of(path, value, scope, name)

    def made_by(self, held: Held) -> Iterator[Held]:
        """What a function returns, or an object of a class.

        Args:
            held: the function, or the class.
        """
        if held.made:
            return
        if isinstance(held.definition.node, ast.ClassDef):
            yield held._replace(made=True)
        else:
            yield from self._returned(held.definition, "", 1)

    def of(self, path: Path, text: str) -> Iterator[Held]:
        """What an expression at the top of a file may hold.

        Args:
            path: the file.
            text: the expression.
        """
        try:
            value = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            return
        yield from self._of(path, value, None)

    def _called(self, path: Path, called: ast.expr, scope: Scope) -> list[Definition]:
        return [each.definition for each in self._of(path, called, scope) if not each.made]

    def _of(self, path: Path, value: ast.expr, scope: Scope, wanted: Wanted = "", hops: int = 0) -> Iterator[Held]:
        self._steps = self._steps + 1 if hops else 0
        if hops > MAX_HOPS or value in self._running or self._steps > _MAX_STEPS:
            return
        self._running.append(value)
        try:
            yield from self._of_kind(path, value, scope, wanted, hops)
        finally:  # whoever asks may have heard enough
            self._running.remove(value)

    def _of_kind(self, path: Path, value: ast.expr, scope: Scope, wanted: Wanted, hops: int) -> Iterator[Held]:
        match value:
            case ast.Name() | ast.Attribute():
                found = list(self._of_named(path, value, scope, hops))
                if not found and isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
                    yield from self._of_module(path, value.value, ast.Constant(value.attr), scope, hops + 1)
                yield from found
            case ast.IfExp(body=one, orelse=other):
                yield from self._of(path, one, scope, wanted, hops + 1)
                yield from self._of(path, other, scope, wanted, hops + 1)
            case ast.Subscript(value=ast.Attribute(value=module, attr="__dict__"), slice=index):
                yield from self._of_module(path, module, self._texts.filled(index, scope), scope, hops + 1)
            case ast.Subscript(value=table, slice=index):
                yield from self._of_table(path, table, key(self._texts.filled(index, scope)), scope, hops + 1)
            case ast.List() | ast.Tuple() | ast.ListComp():  # an element of it is meant
                yield from self._of_table(path, value, "", scope, hops + 1)
            case ast.Call():
                yield from self._of_call(path, value, scope, wanted, hops)

    def _of_table(self, path: Path, table: ast.expr, wanted: str, scope: Scope, hops: int) -> Iterator[Held]:
        """What an element of a table, or of a registry, may hold: that of a key, or, where no literal names it, any."""
        written = containers.elements_written_out(table, wanted)
        if written is not None:
            is_choice = isinstance(table, ast.Dict) and not wanted
            any_of = (path, f"{table.lineno}:{table.col_offset}") if is_choice else None
            for each in written:
                if each.nested:
                    held = self._of_table(path, each.value, wanted, scope, hops + 1)
                else:
                    held = self._of(path, each.value, scope, hops=hops + 1)
                yield from (one._replace(registry=one.registry or any_of) for one in held)
            return
        for source, name in self._homes(path, table, scope) if hops <= MAX_HOPS else ():
            for given in self._assigned(source, name, scope):
                if isinstance(given.value, ast.Call) and not containers.is_container(given.value):
                    there, group = self._registries.registered(source, name), None if wanted else (source, name)
                    yield from (Held(each, registry=group) for under, each in there if wanted in ("", under))
                elif isinstance(given.value, ast.Dict) and given.scope is None and not wanted:
                    held = self._of_table(source, given.value, wanted, None, hops + 1)
                    yield from (each._replace(registry=_named(each.registry) or (source, name)) for each in held)
                elif not isinstance(given.value, ast.Name):
                    yield from self._of_table(source, given.value, wanted, given.scope, hops + 1)

    def _of_call(self, path: Path, call: ast.Call, scope: Scope, wanted: Wanted, hops: int) -> Iterator[Held]:
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        called = call.func.attr if isinstance(call.func, ast.Attribute) else spelling_of(call.func)
        named = key(self._texts.filled(call.args[0], scope)) if call.args else ""
        if called in _HANDS_ON and call.args:
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
            if _named(each.registry) is None or not named:
                yield each
                continue
            assert each.registry is not None
            path, registry = each.registry
            under = self._of_table(path, ast.Name(registry, ast.Load()), named, None, 0)
            if any(other.definition == each.definition for other in under):
                yield each._replace(registry=None)

    def of_property(self, owner: Definition, name: str) -> list[Held] | None:
        """What a property of a class returns; None where it has none of that name.

        Args:
            owner: the class.
            name: the name.
        """
        for node in owner.node.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                if factories.decorators(node) & {"property", "cached_property"}:
                    return list(self._returned(Definition(owner.path, node), "", 0))
        return None

    def of_attribute(self, owner: Definition, name: str) -> list[Held] | None:
        """What the methods of a class assign to an attribute of its objects; None where they assign nothing, or it is a method.

        Args:
            owner: the class.
            name: the name of the attribute.
        """
        if self.definitions.method(owner, name) is not None:
            return None
        methods = [each for each in owner.node.body if isinstance(each, ast.FunctionDef)]
        assigns = [(each, method) for method in methods for each in ast.walk(method) if isinstance(each, ast.Assign)]
        given = [(each.value, method) for each, method in assigns if spelling_of(each.targets[0]) == f"self.{name}"]
        return [held for value, method in given for held in self._of(owner.path, value, method)] if given else None

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


def _named(registry: tuple[Path, str] | None) -> tuple[Path, str] | None:
    """A registry or table, if it has a name in its file by which it can be looked up again."""
    return registry if registry is not None and registry[1].isidentifier() else None
