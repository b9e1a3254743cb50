"""From expressions to qualified names, through every spelling of imports and plain aliases.

A name is a *set*: `try: from torch.amp import autocast / except ImportError: from torch.cuda.amp import autocast` makes
one name with two meanings. Callers act only when every member agrees, which is what `Names.all_in` asks.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.lowering.tree import Tree
from amplint.model import torch_api

UNKNOWN = "?"
LOCAL = "<local>"
"""Prefix of what the file itself defines: `<local>.autocast` is a class or function of this file."""

ScopeNode = cst.Module | cst.FunctionDef | cst.ClassDef | cst.Lambda
_SCOPES = (cst.Module, cst.FunctionDef, cst.ClassDef, cst.Lambda)


@dataclass(frozen=True)
class Binding:
    """One way in which a name gets its meaning: a qualified name, or the expression it is assigned, or neither."""

    qualified: str = ""
    value: cst.BaseExpression | None = None
    node: cst.CSTNode | None = None


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` of a chain of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


class Names:
    """What the names of one file mean."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._bindings: dict[cst.CSTNode, dict[str, list[Binding]]] = {}
        self._stars: list[str] = []
        self._resolved: dict[tuple[cst.CSTNode, str], frozenset[str]] = {}
        self._collect()

    # -- asking ------------------------------------------------------------------------------------------------------

    def resolve(self, node: cst.CSTNode) -> frozenset[str]:
        """All qualified names that an expression may have; `{"?"}` when it has none that can be known."""
        if isinstance(node, cst.Name):
            return self._resolve_name(node.value, self.scope(node), frozenset())
        if isinstance(node, cst.Attribute):
            attribute = node.attr.value
            return frozenset(
                UNKNOWN if base == UNKNOWN else torch_api.canonical(f"{base}.{attribute}") for base in self.resolve(node.value)
            )
        return frozenset({UNKNOWN})

    def all_in(self, node: cst.CSTNode, wanted: Iterable[str]) -> bool:
        """Whether every meaning of the expression is among the wanted qualified names."""
        return self.resolve(node) <= frozenset(wanted)

    def any_in(self, node: cst.CSTNode, wanted: Iterable[str]) -> bool:
        """Whether some meaning of the expression is among the wanted qualified names."""
        return not self.resolve(node).isdisjoint(wanted)

    def scope(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost scope in which `node` is evaluated; decorators, defaults and bases belong outside their own."""
        below = node
        for above in self._tree.ancestors(node):
            if isinstance(above, _SCOPES):
                if isinstance(above, (cst.Module, cst.Lambda)) or below is above.body or isinstance(below, cst.Parameters):
                    return above
            below = above
        return self._tree.module

    def bindings(self, name: str, node: cst.CSTNode) -> list[Binding]:
        """All bindings of `name` in the scope that a use at `node` would see; empty for builtins and unknown names."""
        found = self._lookup(name, self.scope(node))
        return found[1] if found else []

    def bindings_in(self, scope: cst.CSTNode) -> dict[str, list[Binding]]:
        """All names that a scope binds itself."""
        return self._bindings.get(scope, {})

    # -- resolving ---------------------------------------------------------------------------------------------------

    def _resolve_name(self, name: str, scope: cst.CSTNode, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        key = (scope, name)
        if key not in self._resolved:
            result = self._meanings(name, scope, seen)
            if seen:
                return result
            self._resolved[key] = result
        return self._resolved[key]

    def _meanings(self, name: str, scope: cst.CSTNode, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        found = self._lookup(name, scope)
        if found is None:
            stars = {torch_api.canonical(f"{star}.{name}") for star in self._stars if torch_api.is_known(f"{star}.{name}")}
            if stars:
                return frozenset(stars)
            return frozenset({f"builtins.{name}" if hasattr(builtins, name) and not self._stars else UNKNOWN})
        meanings: set[str] = set()
        for binding in found[1]:
            meanings |= self._meaning(binding, seen)
        return frozenset(meanings)

    def _meaning(self, binding: Binding, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        if binding.qualified:
            return frozenset({torch_api.canonical(binding.qualified)})
        value = binding.value
        if value is None or value in seen or not dotted(value):
            return frozenset({UNKNOWN})
        base: cst.BaseExpression = value
        tail = ""
        while isinstance(base, cst.Attribute):
            tail = f".{base.attr.value}{tail}"
            base = base.value
        assert isinstance(base, cst.Name)
        roots = self._resolve_name(base.value, self.scope(base), seen | {value})
        return frozenset(UNKNOWN if root == UNKNOWN else torch_api.canonical(root + tail) for root in roots)

    def _lookup(self, name: str, scope: cst.CSTNode | None) -> tuple[cst.CSTNode, list[Binding]] | None:
        innermost = True
        while scope is not None:
            if innermost or not isinstance(scope, cst.ClassDef):
                bindings = self._bindings.get(scope, {}).get(name)
                if bindings:
                    return scope, bindings
            if isinstance(scope, cst.Module):
                return None
            innermost = False
            scope = self._tree.enclosing(scope, *_SCOPES)
        return None

    # -- collecting --------------------------------------------------------------------------------------------------

    def _bind(self, scope: cst.CSTNode, name: str, binding: Binding) -> None:
        self._bindings.setdefault(scope, {}).setdefault(name, []).append(binding)

    def _collect(self) -> None:
        declared = self._globals()
        for scope, name, binding in self._all_bindings():
            self._bind(self._tree.module if (scope, name) in declared else scope, name, binding)

    def _globals(self) -> set[tuple[cst.CSTNode, str]]:
        return {
            (self.scope(statement), item.name.value) for statement in self._tree.find(cst.Global) for item in statement.names
        }

    def _all_bindings(self) -> Iterator[tuple[cst.CSTNode, str, Binding]]:
        tree = self._tree
        for statement in tree.find(cst.Import):
            for alias in statement.names:
                yield from self._imported(statement, alias)
        for from_ in tree.find(cst.ImportFrom):
            yield from self._imported_from(from_)
        for definition in [*tree.find(cst.FunctionDef), *tree.find(cst.ClassDef)]:
            name = definition.name.value
            outer = tree.enclosing(definition, *_SCOPES) or tree.module
            yield outer, name, Binding(qualified=f"{LOCAL}.{name}", node=definition)
        for param in tree.find(cst.Param):
            owner = tree.enclosing(param, cst.FunctionDef, cst.Lambda)
            if owner is not None:
                yield owner, param.name.value, Binding(node=param)
        yield from self._assigned()

    def _imported(self, statement: cst.Import, alias: cst.ImportAlias) -> Iterator[tuple[cst.CSTNode, str, Binding]]:
        scope, full = self.scope(statement), dotted(alias.name)
        if alias.asname is not None:
            yield scope, dotted(alias.asname.name), Binding(qualified=full, node=alias)
        else:
            top = full.split(".")[0]
            yield scope, top, Binding(qualified=top, node=alias)

    def _imported_from(self, statement: cst.ImportFrom) -> Iterator[tuple[cst.CSTNode, str, Binding]]:
        module = "." * len(statement.relative) + (dotted(statement.module) if statement.module else "")
        if isinstance(statement.names, cst.ImportStar):
            self._stars.append(module)
            return
        scope = self.scope(statement)
        for alias in statement.names:
            name = dotted(alias.name)
            local = dotted(alias.asname.name) if alias.asname else name
            yield scope, local, Binding(qualified=f"{module}.{name}", node=alias)

    def _assigned(self) -> Iterator[tuple[cst.CSTNode, str, Binding]]:
        tree = self._tree
        for assign in tree.find(cst.Assign):
            for target in assign.targets:
                yield from self._targets(target.target, assign.value)
        for annotated in tree.find(cst.AnnAssign):
            yield from self._targets(annotated.target, annotated.value)
        for augmented in tree.find(cst.AugAssign):
            yield from self._targets(augmented.target, None)
        for named in tree.find(cst.NamedExpr):
            yield from self._targets(named.target, named.value)
        for loop in [*tree.find(cst.For), *tree.find(cst.CompFor)]:
            yield from self._targets(loop.target, None)
        for as_name in tree.find(cst.AsName):
            if not isinstance(tree.parent(as_name), cst.ImportAlias):
                yield from self._targets(as_name.name, None)

    def _targets(
        self, target: cst.CSTNode, value: cst.BaseExpression | None
    ) -> Iterator[tuple[cst.CSTNode, str, Binding]]:
        if isinstance(target, cst.Name):
            yield self.scope(target), target.value, Binding(value=value, node=target)
        elif isinstance(target, (cst.Tuple, cst.List)):
            values: list[cst.BaseExpression | None] = [None] * len(target.elements)
            if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements):
                values = [element.value for element in value.elements]
            for element, part in zip(target.elements, values):
                yield from self._targets(element.value, part)
