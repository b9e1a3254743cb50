"""Ways to make an object but by calling its class: methods of the class, and functions whose annotation names it."""

from __future__ import annotations

import ast
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.bound_names import Function
from amplint.callgraph.class_bodies import is_announced_here
from amplint.callgraph.definitions import Definition, Definitions, Scope
from amplint.callgraph.subclasses import Subclasses

_OF_CLASSES = frozenset({"classmethod", "staticmethod"})
"""What decorates methods that are called on the class itself."""


def decorators(function: Function) -> set[str]:
    """The last names of what a function is decorated with."""
    return {spelling_of(each).rpartition(".")[2] for each in function.decorator_list}


def is_defined_in(function: ast.stmt, value: ast.expr) -> bool:
    """Whether an expression names a function that stands in another one, which makes it anew at each call.

    Args:
        function: the other one.
        value: the expression.
    """
    if not isinstance(function, ast.FunctionDef) or not isinstance(value, ast.Name):
        return False
    return any(isinstance(each, ast.FunctionDef) and each.name == value.id for each in function.body)


def method_of_class(definitions: Definitions, path: Path, called: ast.expr, scope: Scope) -> Definition | None:
    """The method that is called on a class itself: `Net.from_config`.

    Args:
        definitions: those of the project.
        path: the file of the call.
        called: what is called.
        scope: the function that the call stands in.
    """
    if not isinstance(called, ast.Attribute):
        return None
    owner = definitions.find(path, spelling_of(called.value), scope)
    body = owner.node.body if owner is not None and isinstance(owner.node, ast.ClassDef) else []
    methods = (each for each in body if isinstance(each, ast.FunctionDef) and each.name == called.attr)
    method = next((each for each in methods if decorators(each) & _OF_CLASSES), None)
    return Definition(owner.path, method) if owner is not None and method is not None else None


def made_by_inherited(definitions: Definitions, path: Path, called: ast.expr, scope: Scope) -> Definition | None:
    """The class of which a method that it inherits makes an object: `Net.from_pretrained`, of a base in a library.

    Args:
        definitions: those of the project.
        path: the file of the call.
        called: what is called.
        scope: the function that the call stands in.
    """
    if not isinstance(called, ast.Attribute) or not called.attr.startswith(("from_", "load_from_")):
        return None
    owner = definitions.find(path, spelling_of(called.value), scope)
    if owner is None or not isinstance(owner.node, ast.ClassDef) or not owner.node.bases:
        return None
    own = {each.name for each in owner.node.body if isinstance(each, ast.FunctionDef)}
    return owner if called.attr not in own else None


def class_around(definitions: Definitions, path: Path, called: ast.expr, scope: Scope) -> Definition | None:
    """The class that a class method calls by the name of its first parameter: `cls()`.

    Args:
        definitions: those of the project.
        path: the file of the call.
        called: what is called.
        scope: the function that the call stands in.
    """
    if not isinstance(called, ast.Name) or not isinstance(scope, ast.FunctionDef):
        return None
    if [each.arg for each in scope.args.args[:1]] != [called.id] or "classmethod" not in decorators(scope):
        return None
    return definitions.class_around(path, scope)


def own_methods(
    definitions: Definitions, subclasses: Subclasses, path: Path, called: ast.expr, scope: Scope
) -> list[Definition]:
    """The methods that an object may call on itself, `self.build_head`: that of the class, if no subclass has another one, and
    those of the subclasses where the class has none, or only announces it.

    Args:
        definitions: those of the project.
        subclasses: those of the project.
        path: the file of the call.
        called: what is called.
        scope: the function that the call stands in.
    """
    if not isinstance(called, ast.Attribute) or spelling_of(called.value) != "self":
        return []
    owner = definitions.class_around(path, scope)
    if owner is None:
        return []
    own = definitions.method(owner, called.attr)
    if own is not None and not _is_announced(own):
        return [] if subclasses.replaces(owner, called.attr) else [own]
    below = [definitions.method(each, called.attr) for each in subclasses.overriding(owner, called.attr)]
    return [each for each in below if each is not None]


def _is_announced(method: Definition) -> bool:
    return isinstance(method.node, ast.FunctionDef) and is_announced_here(method.node)


def annotated(definitions: Definitions, path: Path, annotation: ast.expr | None) -> Definition | None:
    """The class that an annotation names, also in quotes.

    Args:
        definitions: those of the project.
        path: the file of the annotation.
        annotation: what a function is said to return.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        name = annotation.value
    else:
        name = spelling_of(annotation) if annotation is not None else ""
    found = definitions.find(path, name)
    return found if found is not None and isinstance(found.node, ast.ClassDef) else None
