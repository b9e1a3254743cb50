"""The scopes of a file as Python's own tree has them: which names each binds, and where a name is looked up."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_GIVEN = frozenset(
    "__annotations__ __builtins__ __cached__ __class__ __debug__ __dict__ __doc__ __file__ __loader__ __module__ __name__"
    " __package__ __path__ __qualname__ __spec__".split()
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class Scope:
    """A module, a function or a class.

    `path` are the names of the functions and classes around it and its own; `bound` what it binds, on whatever path;
    `for_types` those of them that only a type checker sees bound.
    """

    path: str
    bound: frozenset[str]
    for_types: frozenset[str] = frozenset()
    around: Scope | None = None
    is_class: bool = False

    def inside(self, name: str, bound: Iterable[str], node: ast.AST | None = None, is_class: bool = False) -> Scope:
        """A scope in this one, which sees nothing of it if it is a class.

        Args:
            name: the name of the function or class.
            bound: what it binds.
            node: its definition, for what it declares global or nonlocal.
            is_class: whether it is a class.
        """
        around = self.around if self.is_class else self
        declared = frozenset(_declared(node)) if node is not None else frozenset()
        path = f"{self.path}.{name}" if self.path else name
        return Scope(path, frozenset(bound) - declared, frozenset(), around, is_class)

    def finds(self, name: str, *, for_types: bool = False) -> bool:
        """Whether some scope from this one outwards binds a name, on whatever path.

        Args:
            name: the name.
            for_types: whether bindings count that only a type checker sees.
        """
        if name in self.bound and (for_types or name not in self.for_types):
            return True
        return self.around.finds(name, for_types=for_types) if self.around is not None else is_given(name)


def is_given(name: str) -> bool:
    """Whether a name needs no binding."""
    return hasattr(builtins, name) or name in _GIVEN


def module_scope(module: ast.Module) -> Scope:
    """The scope of a module; what its functions declare global is bound there, too."""
    bound = set(bindings(module.body))
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            bound.update(node.names)
    typing = [node for node in module.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    for_types = {name for node in typing for name in bindings(node.body)}
    rest = [node for node in module.body if node not in typing]
    at_run_time = {*bindings(rest), *(name for node in typing for name in bindings(node.orelse))}
    return Scope("", frozenset(bound), frozenset(for_types - at_run_time))


def bindings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that some code binds in the scope in which it stands."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield from _bound_by(node)
        if isinstance(node, (Function, ast.ClassDef, ast.Lambda)):
            waiting.extend(_evaluated_outside(node))
        elif isinstance(node, _COMPREHENSIONS):
            waiting.extend(below for below in ast.walk(node) if isinstance(below, ast.NamedExpr))
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _bound_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (Function, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from imported_names(node)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _evaluated_outside(node: Function | ast.ClassDef | ast.Lambda) -> Iterator[ast.AST]:
    """What belongs to a definition and runs where it stands."""
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
        return
    yield from (*node.args.defaults, *filter(None, node.args.kw_defaults))
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list


def imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names that an import binds; none for a star."""
    for alias in node.names:
        if alias.name != "*":
            yield alias.asname or alias.name.partition(".")[0]


def parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    """All parameters of a function."""
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _declared(node: ast.AST) -> Iterator[str]:
    """What a function or class declares global or nonlocal."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        below = waiting.pop()
        if isinstance(below, (ast.Global, ast.Nonlocal)):
            yield from below.names
        elif not isinstance(below, (Function, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(below))


def names_in_type(node: ast.expr | None) -> Iterator[str]:
    """The names in an annotation, also in strings."""
    for below in ast.walk(node) if node is not None else ():
        if isinstance(below, ast.Name):
            yield below.id
        elif isinstance(below, ast.Constant) and isinstance(below.value, str):
            try:
                yield from names_in_type(ast.parse(below.value.strip(), mode="eval").body)
            except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last one for its parser: too much
                continue


def exported(targets: list[ast.expr], value: ast.expr) -> Iterator[str]:
    """The names that an assignment to `__all__` lists; none for any other assignment.

    Args:
        targets: what is assigned to.
        value: what is assigned.
    """
    if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
        for below in ast.walk(value):
            if isinstance(below, ast.Constant) and isinstance(below.value, str):
                yield below.value
