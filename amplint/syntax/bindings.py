"""Where the names of a file are bound: imports, definitions, parameters, targets, each in the scope that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.model.records import frozen
from amplint.syntax.nodes import is_sequence
from amplint.syntax.tree import Tree

LOCAL = "<local>"
"""Prefix of what the file itself defines: `<local>.autocast` is a class or function of this file."""

SCOPES = (cst.Module, cst.FunctionDef, cst.ClassDef, cst.Lambda)
BOUNDARIES = frozenset({*SCOPES, cst.Param})
"""What stands in one of these may be evaluated in another scope than it; below all else, the scope is one and the same."""


@frozen
class Binding:
    """One way in which a name gets its meaning: a qualified name, or the expression it is assigned, or neither."""

    qualified: str = ""
    value: cst.BaseExpression | None = None
    node: cst.CSTNode | None = None


@frozen
class Bindings:
    """All bindings of a file by scope and name, and the modules that are imported with a star."""

    by_scope: dict[cst.CSTNode, dict[str, list[Binding]]]
    stars: tuple[str, ...]


_Bound = tuple[cst.CSTNode, str, Binding]


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` of a chain of names and attributes; empty for anything else."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def scope_of(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost scope in which `node` is evaluated; decorators, defaults and bases belong outside their own.

    Args:
        tree: the tree that the node is in.
        node: any node.
    """
    below, outside = node, False
    for above in tree.ancestors(node):
        # Asked of every name: `isinstance` is many times slower, for nodes are abstract classes.
        if type(above) is cst.Param:
            outside = below is above.default or below is above.annotation
        elif type(above) in SCOPES:
            if type(above) is cst.Module or below is above.body:  # type: ignore[attr-defined]
                return above
            if type(below) is cst.Parameters and not outside:
                return above
            outside = False
        below = above
    return tree.root(node)


def is_loaded(tree: Tree, node: cst.CSTNode) -> bool:
    """Whether a name or attribute is an expression that is evaluated, not part of an import, a keyword or a target.

    Args:
        tree: the tree that the node is in.
        node: a `Name` or an `Attribute`.
    """
    below, above = node, tree.parent(node)
    while isinstance(above, (cst.Element, cst.Tuple, cst.List, cst.StarredElement)):
        below, above = above, tree.parent(above)
    if isinstance(above, cst.Attribute):
        return above.value is below
    if isinstance(above, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)):
        return above.target is not below
    if isinstance(above, (cst.Param, cst.FunctionDef, cst.ClassDef)):
        return above.name is not below
    if isinstance(above, cst.Arg):
        return above.keyword is not below
    return not isinstance(above, (cst.ImportAlias, cst.ImportFrom, cst.AsName, cst.NameItem, cst.Del))


def targets(statement: cst.CSTNode) -> list[cst.BaseExpression]:
    """What an assignment, a change or a `:=` gives a value to."""
    if type(statement) is cst.Assign:
        return [each.target for each in statement.targets]
    if type(statement) is cst.AnnAssign or type(statement) is cst.AugAssign or type(statement) is cst.NamedExpr:
        return [statement.target]
    return []


def unpacked(target: cst.Tuple | cst.List, value: cst.BaseExpression | None) -> Sequence[cst.BaseExpression | None]:
    """What each element of a target gets of a tuple or list; None for a starred one, and where that does not show.

    Args:
        target: what is unpacked into.
        value: what is unpacked.
    """
    wanted = len(target.elements)
    nothing: list[None] = [None] * wanted
    if not is_sequence(value) or any(type(each) is cst.StarredElement for each in value.elements):
        return nothing
    given = [each.value for each in value.elements]
    star = next((at for at, each in enumerate(target.elements) if type(each) is cst.StarredElement), None)
    if star is None:
        return given if len(given) == wanted else nothing
    return [*given[:star], None, *given[len(given) - (wanted - star - 1) :]] if len(given) >= wanted - 1 else nothing


def collect(tree: Tree, module: str = LOCAL) -> Bindings:
    """Every binding in the tree, by scope and name.

    Args:
        tree: one file.
        module: its dotted name: what it defines is called `<module>.<name>`, and relative imports lead from there.
    """
    by_scope: dict[cst.CSTNode, dict[str, list[Binding]]] = {}
    declared = _declared(tree)
    for bound in (_imported(tree, module), _defined(tree, module), _assigned(tree)):
        for scope, name, binding in bound:
            owner = declared.get((scope, name), scope)
            by_scope.setdefault(owner, {}).setdefault(name, []).append(binding)
    starred = [from_ for from_ in tree.find(cst.ImportFrom) if isinstance(from_.names, cst.ImportStar)]
    return Bindings(by_scope, tuple(absolute(module_of(each), module) for each in starred))


def _declared(tree: Tree) -> dict[tuple[cst.CSTNode, str], cst.CSTNode]:
    """The scope that `global` and `nonlocal` make names of a function belong to."""
    found: dict[tuple[cst.CSTNode, str], cst.CSTNode] = {}
    for statement in tree.find(cst.Global):
        for item in statement.names:
            found[scope_of(tree, statement), item.name.value] = tree.module
    for nonlocal_ in tree.find(cst.Nonlocal):
        inner = scope_of(tree, nonlocal_)
        # The function around is nearly always the one that binds it.
        outer = tree.enclosing(inner, cst.FunctionDef) or tree.module
        for item in nonlocal_.names:
            found[inner, item.name.value] = outer
    return found


def module_of(statement: cst.ImportFrom) -> str:
    """The module that a statement imports from, with its leading dots."""
    return "." * len(statement.relative) + (dotted(statement.module) if statement.module else "")


def absolute(name: str, module: str) -> str:
    """A name that a module imports, without its leading dots.

    Args:
        name: the name as it is imported, with its leading dots.
        module: the dotted name of the importing module; a package is called `<name>.__init__` here.
    """
    dots = len(name) - len(name.lstrip("."))
    if not dots or module == LOCAL:
        return name
    return ".".join([*module.split(".")[:-dots], *filter(None, [name[dots:]])])


def _imported(tree: Tree, module: str) -> Iterator[_Bound]:
    for statement in tree.find(cst.Import):
        scope = scope_of(tree, statement)
        for alias in statement.names:
            full = dotted(alias.name)
            top = full.partition(".")[0]
            if alias.asname is not None:
                yield scope, dotted(alias.asname.name), Binding(qualified=full, node=alias)
            else:
                yield scope, top, Binding(qualified=top, node=alias)
    for from_ in tree.find(cst.ImportFrom):
        if isinstance(from_.names, cst.ImportStar):
            continue
        scope, source = scope_of(tree, from_), module_of(from_)
        separator = "" if source.endswith(".") else "."
        for alias in from_.names:
            name = dotted(alias.name)
            local = dotted(alias.asname.name) if alias.asname else name
            yield scope, local, Binding(qualified=absolute(f"{source}{separator}{name}", module), node=alias)


def _defined(tree: Tree, module: str) -> Iterator[_Bound]:
    definitions: list[cst.FunctionDef | cst.ClassDef] = [*tree.find(cst.FunctionDef), *tree.find(cst.ClassDef)]
    for definition in definitions:
        name = definition.name.value
        outer = tree.enclosing(definition, *SCOPES) or tree.module
        yield outer, name, Binding(qualified=f"{module}.{name}", node=definition)
    for param in tree.find(cst.Param):
        owner = tree.function(param)
        if owner is not None:
            yield owner, param.name.value, Binding(node=param)


def _assigned(tree: Tree) -> Iterator[_Bound]:
    for assign in tree.find(cst.Assign):
        for target in assign.targets:
            yield from _targets(tree, target.target, assign.value)
    for annotated in tree.find(cst.AnnAssign):
        yield from _targets(tree, annotated.target, annotated.value)
    for augmented in tree.find(cst.AugAssign):
        yield from _targets(tree, augmented.target, None)
    for named in tree.find(cst.NamedExpr):
        yield from _targets(tree, named.target, named.value)
    loops: list[cst.For | cst.CompFor] = [*tree.find(cst.For), *tree.find(cst.CompFor)]
    for loop in loops:
        yield from _targets(tree, loop.target, None)
    for as_name in tree.find(cst.AsName):
        if not isinstance(tree.parent(as_name), cst.ImportAlias):
            yield from _targets(tree, as_name.name, None)
    captures: list[cst.MatchAs | cst.MatchStar] = [*tree.find(cst.MatchAs), *tree.find(cst.MatchStar)]
    for capture in captures:
        if capture.name is not None:
            yield from _targets(tree, capture.name, None)


def _targets(tree: Tree, target: cst.CSTNode, value: cst.BaseExpression | None) -> Iterator[_Bound]:
    if type(target) is cst.Name:
        scope = scope_of(tree, target)
        if not (type(value) is cst.Name and value.value == target.value and type(scope) is cst.FunctionDef):
            yield scope, target.value, Binding(value=value, node=target)  # `x = x` leaves a parameter as it is
    elif is_sequence(target):
        for element, part in zip(target.elements, unpacked(target, value)):
            yield from _targets(tree, element.value, part)
