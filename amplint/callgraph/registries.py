"""Classes and functions that register themselves under a name: `@LOSSES.register_module()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions
from amplint.callgraph.import_graph import ImportGraph


class Registries:
    """Tells what is registered where.

    Args:
        graph: the files of the project.
        definitions: what is defined in them.
    """

    def __init__(self, graph: ImportGraph, definitions: Definitions) -> None:
        self._graph, self._definitions = graph, definitions
        self._known: dict[str, list[tuple[str, Definition]]] = {}

    def registered(self, registry: str) -> list[tuple[str, Definition]]:
        """What registers itself with an object of some name, and under which key.

        Args:
            registry: the name of the object.
        """
        if registry not in self._known:
            self._known[registry] = list(self._find(registry))
        return self._known[registry]

    def built_from(self, path: Path, call: ast.Call) -> ast.expr | None:
        """The registry of which a call makes an object: `LOSSES.build(cfg)`, `build_from_cfg(cfg, LOSSES)`.

        Args:
            path: the file of the call.
            call: the call.
        """
        match call:
            case ast.Call(func=ast.Attribute(value=registry, attr="build")):
                return registry if self._definitions.find(path, spelling_of(call.func)) is None else None
            case ast.Call(func=ast.Name(id="build_from_cfg"), args=[_, registry, *_]):
                return registry
        return None

    def _find(self, registry: str) -> Iterator[tuple[str, Definition]]:
        mark = f"@{registry}.register".encode()
        for path in self._graph.registering:
            for node in self._definitions.top(path) if self._graph.content(path).holds(mark) else ():
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    for each in node.decorator_list:
                        if ast.unparse(each).startswith(f"{registry}.register"):
                            yield key(each) or node.name, Definition(path, node)


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
