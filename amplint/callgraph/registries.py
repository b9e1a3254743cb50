"""Classes and functions that register themselves under a name: `@LOSSES.register_module()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.callgraph.handed_arguments import given_as
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.parameters import parameter_names

_OF_TIMM = "register_model"
"""What decorates the functions by which timm makes models."""
_MOST_HOMES = 20
"""Through so many files the name of a registry is followed."""


class Registries:
    """Tells what is registered where.

    Args:
        graph: the files of the project.
        definitions: what is defined in them.
    """

    def __init__(self, graph: ImportGraph, definitions: Definitions) -> None:
        self._graph, self._definitions = graph, definitions
        self._known: dict[tuple[Path, str], list[tuple[str, Definition]]] = {}
        self._builders: dict[Definition, str] = {}

    def registered(self, home: Path, registry: str) -> list[tuple[str, Definition]]:
        """What registers itself with an object, and under which key.

        Args:
            home: the file that makes the object.
            registry: the name of the object there.
        """
        if (home, registry) not in self._known:
            self._known[home, registry] = list(self._find(home, registry))
        return self._known[home, registry]

    def models_for(self, path: Path, call: ast.Call, scope: Scope = None) -> list[tuple[str, Definition]]:
        """The functions of the project that register themselves as makers of models with timm, if a call has timm make one:
        `create_model(name)`; of these only those that are led to together with the call.

        Args:
            path: the file of the call.
            call: the call.
            scope: the function that the call stands in.
        """
        called = spelling_of(call.func)
        if called.rpartition(".")[2] != "create_model" or not self._definitions.library_name(path, called, scope):
            return []
        family = self._graph.family(path)
        registering = (each for each in self._graph.registering if each in family)
        tops = ((each, node) for each in registering for node in self._definitions.top(each))
        return [
            (node.name, Definition(home, node))
            for home, node in tops
            if isinstance(node, ast.FunctionDef) and any(spelling_of(each) == _OF_TIMM for each in node.decorator_list)
        ]

    def built_from(self, path: Path, call: ast.Call, scope: Scope = None) -> ast.expr | None:
        """The registry of which a call makes an object: `LOSSES.build(cfg)`, `build_from_cfg(cfg, LOSSES)`, or a call of a
        function of the project that builds from the registry it is given.

        Args:
            path: the file of the call.
            call: the call.
            scope: the function that the call stands in.
        """
        found = self._definitions.find(path, spelling_of(call.func), scope)
        match call:
            case ast.Call(func=ast.Attribute(value=registry, attr="build")) if (
                found is None and spelling_of(registry) != "self"
            ):
                return registry
            case ast.Call(func=ast.Name(id="build_from_cfg")):
                return given_as(call, "registry", 1)
        if found is None or isinstance(found.node, ast.ClassDef):
            return None
        name = self._builds_from(found)
        return given_as(call, name, parameter_names(found.node).index(name)) if name else None

    def _builds_from(self, function: Definition) -> str:
        """The parameter of a function that is a registry, of which it returns an object; empty for none."""
        if function not in self._builders:
            self._builders[function] = ""  # stands while it is looked for: functions may call each other in a circle
            self._builders[function] = next(self._registries_of_returns(function), "")
        return self._builders[function]

    def _registries_of_returns(self, function: Definition) -> Iterator[str]:
        assert not isinstance(function.node, ast.ClassDef)
        parameters = parameter_names(function.node)
        for node in ast.walk(function.node):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                registry = self.built_from(function.path, node.value, function.node)
                for each in (registry, *_looked_up(node.value.func, function.node)):
                    if isinstance(each, ast.Name) and each.id in parameters:
                        yield each.id

    def _find(self, home: Path, registry: str) -> Iterator[tuple[str, Definition]]:
        mark = f"@{registry}.register".encode()
        for path in self._graph.registering:
            if not self._graph.content(path).holds(mark) or home not in self._homes(path, registry):
                continue
            for node in self._definitions.top(path):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    for each in node.decorator_list:
                        if ast.unparse(each).startswith(f"{registry}.register"):
                            yield key(each) or node.name, Definition(path, node)

    def _homes(self, path: Path, registry: str) -> list[Path]:
        """The files that may make the object that a file calls by a name, through however many others that import it."""
        homes = [(path, registry)]
        for home, name in homes:  # it grows
            homes += [each for each in self._definitions.sources(home, name) if each not in homes]
            if len(homes) > _MOST_HOMES:
                break
        return [home for home, _ in homes]


def _looked_up(called: ast.expr, function: ast.stmt) -> Iterator[ast.expr]:
    """What a class is asked from that a function calls: `registry` of `registry.get(name)(**options)`, or through a name."""
    values = [called]
    if isinstance(called, ast.Name):
        assigns = (each for each in ast.walk(function) if isinstance(each, ast.Assign))
        values = [each.value for each in assigns if [spelling_of(target) for target in each.targets] == [called.id]]
    for value in values:
        match value:
            case ast.Call(func=ast.Attribute(value=registry, attr="get")):
                yield registry


def key(node: ast.expr) -> str:
    """The key that something names: `"dice"`, `register("dice")`, `{"type": "dice"}`, `dict(type="dice")`; empty if none does."""
    match node:
        case ast.Constant(value=str(text)) | ast.Call(args=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.Call(keywords=keywords):
            named = {each.arg: each.value for each in keywords}
            return next((key(named[name]) for name in ("type", "name") if name in named), "")
        case ast.Dict(keys=keys, values=values):
            typed = (value for each, value in zip(keys, values) if each is not None and key(each) == "type")
            return next(map(key, typed), "")
    return ""
