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


class Subclasses:
    """Tells which classes are derived from which.

    Args:
        graph: the files of the project.
        definitions: what is defined in them.
    """

    def __init__(self, graph: ImportGraph, definitions: Definitions) -> None:
        self._graph, self._definitions = graph, definitions
        self._known: dict[Definition, list[Definition]] = {}

    def overriding(self, owner: Definition, method: str) -> list[Definition]:
        """The subclasses of a class, and theirs, that have a method; none where those are many.

        Args:
            owner: the class.
            method: the name of the method.
        """
        if owner not in self._known:  # a class may leave much to them
            self._known[owner] = self._below(owner)
        found = [each for each in self._known[owner] if _has(each.node, method)]
        return found if len(found) <= _MOST else []

    def _below(self, owner: Definition) -> list[Definition]:
        """The subclasses of a class, and theirs; none where those are many."""
        classes = [owner]
        for base in classes:  # it grows: subclasses have subclasses
            classes += [each for each in self._derived(base) if each not in classes]
            if len(classes) > _MOST * 4:
                return []
        return classes[1:]

    def _derived(self, owner: Definition) -> Iterator[Definition]:
        derives = re.compile(rf"class[^\n]*\(.*{re.escape(owner.node.name)}".encode())
        for path in sorted(self._graph.family(owner.path)):
            content = self._graph.content(path)
            if not (content.holds(owner.node.name.encode()) and content.matches(derives)):
                continue
            for each in self._definitions.named_in(path, ""):
                bases = each.node.bases if isinstance(each.node, ast.ClassDef) else []
                if any(self._definitions.find(path, spelling_of(base)) == owner for base in bases):
                    yield each


def _has(node: ast.AST, method: str) -> bool:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return any(isinstance(each, ast.FunctionDef) and each.name == method for each in body)


def is_false(node: ast.AST, attribute: str) -> bool:
    """Whether a class says in its body that an attribute is False.

    Args:
        node: the class.
        attribute: the name of the attribute.
    """
    for each in node.body if isinstance(node, ast.ClassDef) else []:
        named = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == attribute for target in named):
            value = each.value if isinstance(each, (ast.Assign, ast.AnnAssign)) else None
            return isinstance(value, ast.Constant) and value.value is False
    return False
