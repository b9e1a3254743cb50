"""The methods by which subclasses do what a class leaves to them, in whichever files of a project they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions
from amplint.callgraph.import_graph import ImportGraph

_MOST = 12
"""A method that more subclasses have is one of a framework."""


def overriding(owner: Definition, method: str, definitions: Definitions, graph: ImportGraph) -> list[Definition]:
    """The subclasses of a class, and theirs, that have a method; none where those are many.

    Args:
        owner: the class.
        method: the name of the method.
        definitions: those of the project.
        graph: its files.
    """
    classes = [owner]
    for base in classes:  # it grows: subclasses have subclasses
        classes += [each for each in _subclasses(base, definitions, graph) if each not in classes]
        if len(classes) > _MOST * 4:
            return []
    found = [each for each in classes[1:] if _has(each.node, method)]
    return found if len(found) <= _MOST else []


def _subclasses(owner: Definition, definitions: Definitions, graph: ImportGraph) -> Iterator[Definition]:
    derives = re.compile(rf"class[^\n]*\(.*{re.escape(owner.node.name)}".encode())
    for path in sorted(graph.family(owner.path)):
        content = graph.content(path)
        if not (content.holds(owner.node.name.encode()) and content.matches(derives)):
            continue
        for each in definitions.named_in(path, ""):
            bases = each.node.bases if isinstance(each.node, ast.ClassDef) else []
            if any(definitions.find(path, spelling_of(base)) == owner for base in bases):
                yield each


def _has(node: ast.AST, method: str) -> bool:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return any(isinstance(each, ast.FunctionDef) and each.name == method for each in body)
