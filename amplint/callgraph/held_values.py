"""Which functions of a project, or objects of its classes, an expression of some file may hold."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from amplint.callgraph import containers, factories
from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.call_values import HANDS_ON, CallValues, named_registry
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.callgraph.given_texts import GivenTexts
from amplint.callgraph.handed_arguments import Argument, HandedArguments
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.module_values import MAX_HOPS
from amplint.callgraph.named_values import Held, Wanted
from amplint.callgraph.registries import Registries, key
from amplint.callgraph.subclasses import Subclasses

_MAX_STEPS = 1_000
"""Of an expression that leads to more others, the rest is not looked at."""


class HeldValues(CallValues):
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
            and not (containers.is_container(each) or spelling_of(each.func).rpartition(".")[2] in HANDS_ON)
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
                    yield from (
                        each._replace(registry=named_registry(each.registry) or (source, name)) for each in held
                    )
                elif not isinstance(given.value, ast.Name):
                    yield from self._of_table(source, given.value, wanted, given.scope, hops + 1)

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
