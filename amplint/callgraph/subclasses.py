"""The methods by which subclasses do what a class leaves to them, in whichever files of a project they stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.class_bodies import given_by_class, told_to_constructor, values_of
from amplint.callgraph.definitions import Definition, Definitions, Scope, method_of
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
        self._given: dict[Definition, frozenset[str]] = {}

    def overriding(self, owner: Definition, method: str) -> list[Definition]:
        """The subclasses of a class, and theirs, that have a method; none where those are many.

        Args:
            owner: the class.
            method: the name of the method.
        """
        found = [each for each in self._known_below(owner) if method_of(each, method) is not None]
        return found if len(found) <= _MOST else []

    def replaces(self, owner: Definition, method: str) -> bool:
        """Whether a subclass of a class, or one of theirs, has a method of its own.

        Args:
            owner: the class.
            method: the name of the method.
        """
        return any(method_of(each, method) is not None for each in self._known_below(owner))

    def in_ways_of_their_own(self, owner: Definition, called: str) -> set[Scope]:
        """The methods of the subclasses that replace every method in which a class makes some call: what they give the object of
        that call never meets it.

        Args:
            owner: the class.
            called: what is called: `self.model.get_loss`.
        """
        functions = [each for each in owner.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        calling = [each.name for each in functions if any(spelling_of(call.func) == called for call in _calls_in(each))]
        found: set[Scope] = set()
        for heir in self._known_below(owner) if calling else ():
            between = [*takewhile(lambda each: each != owner, self._definitions.lineage(heir))]
            if all(_replace_wholly(between, name) for name in calling):
                found.update(each for each in ast.walk(heir.node) if isinstance(each, ast.FunctionDef))
        return found

    def are_combined(self, owner: Definition) -> bool:
        """Whether a subclass of a class, or one of theirs, derives from another class of the project, too: then `super()` in the
        class may lead to that one."""
        return any(
            sum(self._definitions.find(path, spelling_of(base)) is not None for base in node.bases) > 1
            for path, node in self._known_below(owner)
            if isinstance(node, ast.ClassDef)
        )

    def _known_below(self, owner: Definition) -> list[Definition]:
        if owner not in self._known:  # a class may leave much to them
            self._known[owner] = self._below(owner)
        return self._known[owner]

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
        asked = self._asked_of_itself(bases, method)
        if asked & self._given_by(heirs) & self._given_by(bases):
            return None
        return None if asked & set(told_to_constructor(heirs, bases[0])) else bases[0]

    def _given_by(self, classes: Sequence[Definition]) -> set[str]:
        """The names of the methods that classes have, and of the attributes that they give a value."""
        for each in classes:
            if each not in self._given:
                self._given[each] = frozenset(given_by_class(each.node))
        return {name for each in classes for name in self._given[each]}

    def _asked_of_itself(self, lineage: Sequence[Definition], method: str) -> set[str]:
        """The attributes and methods of its object that a method of a class asks for, and that these do, or what they are given,
        where the class and its bases say so."""
        names = [method]
        for name in names:  # it grows
            found = self._definitions.method(lineage[0], name)
            given = (
                [value for each in lineage for value in values_of(each.node, name)] if found is None else [found.node]
            )
            asked = (node for each in given for node in ast.walk(each) if isinstance(node, ast.Attribute))
            names += dict.fromkeys(
                node.attr for node in asked if spelling_of(node.value) == "self" and node.attr not in names
            )
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


def _replace_wholly(classes: Sequence[Definition], method: str) -> bool:
    """Whether one of some classes has a method, and none calls that of its base."""
    has = any(method_of(each, method) is not None for each in classes)
    return has and not any(
        isinstance(call.func, ast.Attribute) and call.func.attr == method and _is_of_base(call.func.value, each)
        for each in classes
        for call in _calls_in(each.node)
    )


def _is_of_base(value: ast.expr, owner: Definition) -> bool:
    """Whether an expression in a class is `super()`, or the name of a base."""
    if isinstance(value, ast.Call):
        return spelling_of(value.func) == "super"
    bases = owner.node.bases if isinstance(owner.node, ast.ClassDef) else ()
    return spelling_of(value) in {spelling_of(each) for each in bases}


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))
