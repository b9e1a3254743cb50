"""The methods by which subclasses do what a class leaves to them, in whichever files of a project they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, method_of
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
        found = [each for each in self._known[owner] if method_of(each, method) is not None]
        return found if len(found) <= _MOST else []

    def inherited_from(self, owner: Definition, method: str, is_replaced: bool = False) -> Definition | None:
        """The class of another file whose method runs on an object of a class; None where the method stands in the file of the
        class, where there is none, and where it calls what the class, or one between, does in another way.

        Args:
            owner: the class.
            method: the name of the method.
            is_replaced: whether the method of a base is meant that the class itself replaces, as `super()` does.
        """
        lineage = self._definitions.lineage(owner)
        heirs = [*takewhile(lambda each: method_of(each, method) is None, lineage[is_replaced:])]
        heirs = [*lineage[:is_replaced], *heirs]
        bases = lineage[len(heirs) :]
        if not bases or bases[0].path == owner.path:
            return None
        replaced = _given_by(heirs) & _given_by(bases)
        return None if replaced and replaced & self._asked_of_itself(bases[0], method) else bases[0]

    def _asked_of_itself(self, owner: Definition, method: str) -> set[str]:
        """The attributes and methods of its object that a method asks for, and that these do if the class or its bases have
        them."""
        names = [method]
        for name in names:  # it grows
            found = self._definitions.method(owner, name)
            for each in ast.walk(found.node) if found is not None else ():
                match each:
                    case ast.Attribute(value=ast.Name(id="self"), attr=asked) if asked not in names:
                        names.append(asked)
        return {*names[1:]}

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


def _given_by(classes: Iterable[Definition]) -> set[str]:
    """The names of the methods that classes have, and of the attributes that they give a value."""
    given: set[str] = set()
    for _, owner in classes:
        for each in owner.body:
            if isinstance(each, ast.FunctionDef) and not _is_announced(each):
                given.add(each.name)
            elif isinstance(each, ast.Assign):
                given.update(target.id for target in each.targets if isinstance(target, ast.Name))
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                parts = (part for target in node.targets for part in ast.walk(target))
                own = (part for part in parts if isinstance(part, ast.Attribute) and spelling_of(part.value) == "self")
                given.update(part.attr for part in own)
    return given


def _is_announced(method: ast.FunctionDef) -> bool:
    """Whether a method leaves what it does to subclasses."""
    body = [each for each in method.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    return not body or len(body) == 1 and isinstance(body[0], (ast.Raise, ast.Pass))


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
