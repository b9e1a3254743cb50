"""From expressions to qualified names, through every spelling of imports and plain aliases.

A name is a *set*: `try: from torch.amp import autocast / except ImportError: from torch.cuda.amp import autocast` makes
one name with two meanings. Callers act only when every member agrees, which is what `Names.all_in` asks.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.syntax.bindings import BOUNDARIES, LOCAL, SCOPES, Binding, Bindings, collect, dotted, is_loaded, scope_of
from amplint.syntax.constant_tests import ConstantTests
from amplint.syntax.tree import Tree

__all__ = ["LOCAL", "UNKNOWN", "Binding", "Names", "dotted"]

UNKNOWN = "?"

_MAX_ALIASES = 50
"""Names that stand for one another in a row; what is called by one more is not known."""


class Names:
    """What the names of one file mean.

    Args:
        tree: the file.
        originals: what another file of the project means by a name that it hands on; without, that is not known.

    Attributes:
        constants: the tests that always come out alike.
    """

    def __init__(self, tree: Tree, originals: Callable[[str], frozenset[str]] | None = None) -> None:
        self._tree = tree
        self._originals = originals
        bindings = collect(tree)
        self._own = bindings.by_scope
        self.constants = ConstantTests(tree, self.bindings)
        self._bindings = dict(self._own)
        self._stars = bindings.stars
        self._known: dict[int, tuple[cst.CSTNode, frozenset[str]]] = {}
        self._resolved: dict[tuple[int, str], frozenset[str]] = {}
        self._scope_of: dict[int, tuple[cst.CSTNode, cst.CSTNode]] = {}
        self._around: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        self._found: dict[tuple[int, str], tuple[cst.CSTNode, list[Binding]] | None] = {}
        self._references: dict[frozenset[str], tuple[cst.Name | cst.Attribute, ...]] = {}

    def graft(self, bindings: Bindings) -> None:
        """Take in what the names of another file mean."""
        self._bindings.update(bindings.by_scope)
        self._found.clear()

    # -- asking ------------------------------------------------------------------------------------------------------

    def resolve(self, node: cst.CSTNode) -> frozenset[str]:
        """All qualified names that an expression may have; `{"?"}` when it has none that can be known."""
        # By identity, as nodes hash slowly; the node is kept, so that no other one can get its identity.
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._resolve(node)
        return known[1]

    def _resolve(self, node: cst.CSTNode) -> frozenset[str]:
        if type(node) is cst.Name:
            return self._resolve_name(node.value, self.scope(node), frozenset())
        if type(node) is cst.Attribute:
            return _extended(self.resolve(node.value), f".{node.attr.value}")
        if type(node) is cst.IfExp:
            return frozenset[str]().union(*map(self.resolve, self.constants.sides(node)))
        return frozenset({UNKNOWN})

    def meaning(self, name: str, at: cst.CSTNode) -> frozenset[str]:
        """All qualified names that `name` would have if it stood at `at`.

        Args:
            name: an identifier.
            at: any node, in whose scope the name is looked up.
        """
        return self._resolve_name(name, self.scope(at), frozenset())

    def all_in(self, node: cst.CSTNode, wanted: Iterable[str]) -> bool:
        """Whether every meaning of the expression is among the wanted qualified names.

        Args:
            node: any expression.
            wanted: qualified names, such as `torch.amp.GradScaler`.
        """
        return self.resolve(node) <= frozenset(wanted)

    def any_in(self, node: cst.CSTNode, wanted: Iterable[str]) -> bool:
        """Whether some meaning of the expression is among the wanted qualified names.

        Args:
            node: any expression.
            wanted: qualified names, such as `torch.amp.GradScaler`.
        """
        return not self.resolve(node).isdisjoint(wanted)

    def references(self, wanted: Collection[str]) -> Sequence[cst.Name | cst.Attribute]:
        """The expressions that can only mean one of the wanted names; imports and targets of assignments are none."""
        key = frozenset(wanted)
        if key not in self._references:
            self._references[key] = tuple(self._looked_through(key))
        return self._references[key]

    def _looked_through(self, wanted: frozenset[str]) -> Iterator[cst.Name | cst.Attribute]:
        last = {name.rpartition(".")[2] for name in wanted}
        for attribute in self._tree.find(cst.Attribute):
            if attribute.attr.value in last and is_loaded(self._tree, attribute) and self.all_in(attribute, wanted):
                yield attribute
        local = self._spellings(last)
        for name in self._tree.find(cst.Name):
            if name.value in local and is_loaded(self._tree, name) and self.all_in(name, wanted):
                yield name

    def scope(self, node: cst.CSTNode) -> cst.CSTNode:
        """The innermost scope in which `node` is evaluated; decorators, defaults and bases belong outside their own."""
        # A dozen rules ask of one and the same use of a name, and what stands in one statement mostly shares a scope.
        known = self._scope_of
        found = known.get(id(node))
        if found is not None:
            return found[1]
        chain, above = [node], self._tree.parent(node)
        while above is not None and found is None and type(above) not in BOUNDARIES:
            found = known.get(id(above))
            chain.append(above)
            above = self._tree.parent(above)
        scope = scope_of(self._tree, chain[-1]) if found is None else found[1]
        for each in chain:
            known[id(each)] = each, scope
        return scope

    def bindings(self, name: str, node: cst.CSTNode) -> list[Binding]:
        """All bindings of `name` in the scope that a use at `node` would see; empty for builtins and unknown names.

        Args:
            name: an identifier.
            node: any node, in whose scope the name is looked up.
        """
        found = self._lookup(name, self.scope(node))
        return found[1] if found else []

    def function(self, node: cst.BaseExpression) -> cst.FunctionDef | None:
        """The function of the file that a bare name stands for, if it can be no other."""
        return self.function_of(self.bindings(node.value, node)) if type(node) is cst.Name else None

    def function_of(self, bindings: Sequence[Binding]) -> cst.FunctionDef | None:
        """The function that a name with these bindings stands for, if it can be no other.

        `step = careful_step` makes another name of a function, through which it is called.
        """
        for _ in range(_MAX_ALIASES):
            node, value = (bindings[0].node, bindings[0].value) if len(bindings) == 1 else (None, None)
            if type(node) is cst.FunctionDef or type(value) is not cst.Name:
                return node if type(node) is cst.FunctionDef else None
            bindings = self.bindings(value.value, value)
        return None

    def from_stars(self, node: cst.Name) -> list[str]:
        """What a name that the file does not bind would be in each module that is imported with a star."""
        unbound = self._lookup(node.value, self.scope(node)) is None and self._tree.root(node) is self._tree.module
        foreign = [star for star in self._stars if star.partition(".")[0] != "torch"] if unbound else []
        return [f"{star}.{node.value}" for star in foreign if not hasattr(builtins, node.value)]

    def of_binding(self, binding: Binding) -> frozenset[str]:
        """All qualified names that a name may have by one of its bindings."""
        return self._meaning(binding, frozenset())

    def bindings_in(self, scope: cst.CSTNode) -> dict[str, list[Binding]]:
        """All names that a scope binds itself."""
        return self._bindings.get(scope, {})

    def everywhere(self, name: str) -> list[Binding]:
        """All bindings of `name` in the whole file, whatever their scope."""
        return [each for names in self._own.values() for each in names.get(name, ())]

    def visible(self, node: cst.CSTNode) -> Iterator[tuple[str, list[Binding]]]:
        """All names that the file binds and that a use at `node` would see, from the innermost scope outwards."""
        seen: set[str] = set()
        for scope in self._scopes(self.scope(node)):
            for name, bindings in self._bindings.get(scope, {}).items():
                if name not in seen:
                    seen.add(name)
                    yield name, bindings

    # -- resolving ---------------------------------------------------------------------------------------------------

    def _resolve_name(self, name: str, scope: cst.CSTNode, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        key = (id(scope), name)
        if key not in self._resolved:
            result = self._meanings(name, scope, seen)
            if seen:
                return result
            self._resolved[key] = result
        return self._resolved[key]

    def _meanings(self, name: str, scope: cst.CSTNode, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        found = self._lookup(name, scope)
        if found is None:
            return self._starred(name) if self._tree.root(scope) is self._tree.module else _builtin(name)
        # `autocast = None` after a failed import is no meaning of a name that is called or has attributes.
        bindings = [each for each in found[1] if not _is_none(each.value)] or found[1]
        meanings: set[str] = set()
        for binding in bindings:
            meanings |= self._meaning(binding, seen)
        return frozenset(meanings)

    def _meaning(self, binding: Binding, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        if binding.qualified:
            qualified = torch_names.canonical(binding.qualified)
            hands_on = isinstance(binding.node, cst.ImportAlias) and torch_names.may_be_handed_on(qualified)
            return self._originals(qualified) if hands_on and self._originals is not None else frozenset({qualified})
        value = binding.value
        if value is None or value in seen or len(seen) == _MAX_ALIASES:
            return frozenset({UNKNOWN})
        sides = self.constants.sides(value) if type(value) is cst.IfExp else [value]
        return frozenset[str]().union(*(self._aliased(each, seen | {value}) for each in sides))

    def _aliased(self, value: cst.BaseExpression, seen: frozenset[cst.CSTNode]) -> frozenset[str]:
        """The meanings of what a name is given; `seen` are the expressions that led here."""
        if not dotted(value):
            return frozenset({UNKNOWN})
        base, tail = value, ""
        while isinstance(base, cst.Attribute):
            tail = f".{base.attr.value}{tail}"
            base = base.value
        assert isinstance(base, cst.Name)
        return _extended(self._resolve_name(base.value, self.scope(base), seen), tail)

    def _starred(self, name: str) -> frozenset[str]:
        """The meanings of a name that the file does not bind itself."""
        if not self._stars:
            return _builtin(name)
        known = {
            torch_names.canonical(f"{star}.{name}") for star in self._stars if torch_names.is_known(f"{star}.{name}")
        }
        foreign = any(star.partition(".")[0] != "torch" for star in self._stars)
        if foreign and name == "torch":
            return frozenset({name})  # whichever module brings it, there is one package of that name
        if brought := self._brought(name):
            return brought
        # A module of unknown contents may bring the same name.
        return frozenset(known | {UNKNOWN} if foreign or not known else known)

    def _brought(self, name: str) -> frozenset[str]:
        """What a name stands for that a file of the project hands on, from which this one imports with a star."""
        for qualified in (f"{module}.{name}" for module in self._stars):
            if self._originals is not None and torch_names.may_be_handed_on(qualified):
                found = self._originals(qualified)
                if qualified not in found:
                    return found
        return frozenset()

    def _lookup(self, name: str, scope: cst.CSTNode) -> tuple[cst.CSTNode, list[Binding]] | None:
        key = id(scope), name
        if key not in self._found:
            self._found[key] = self._looked_up(name, scope)
        return self._found[key]

    def _looked_up(self, name: str, scope: cst.CSTNode) -> tuple[cst.CSTNode, list[Binding]] | None:
        for each in self._scopes(scope):
            bindings = self._bindings.get(each, {}).get(name)
            if bindings:
                return each, bindings
        return None

    def _scopes(self, innermost: cst.CSTNode) -> list[cst.CSTNode]:
        """The scopes in which a name is looked up; the body of a class is none for the functions in it."""
        if innermost not in self._around:
            above = (each for each in self._tree.ancestors(innermost) if type(each) in SCOPES)
            self._around[innermost] = [innermost, *(each for each in above if type(each) is not cst.ClassDef)]
        return self._around[innermost]

    def _spellings(self, last: set[str]) -> set[str]:
        """The local names that may stand for a qualified name which ends in one of `last`."""
        ends = [
            (name, (each.qualified or (dotted(each.value) if each.value else "")).rpartition(".")[2])
            for names in self._own.values()
            for name, bindings in names.items()
            for each in bindings
        ]
        found = set(last) if self._stars else set()
        grown = -1
        while grown < len(found):
            grown = len(found)
            found.update(name for name, end in ends if end in last or end in found)
        return found


def _builtin(name: str) -> frozenset[str]:
    return frozenset({f"builtins.{name}" if hasattr(builtins, name) else UNKNOWN})


def _extended(bases: frozenset[str], tail: str) -> frozenset[str]:
    return frozenset(UNKNOWN if base == UNKNOWN else torch_names.canonical(base + tail) for base in bases)


def _is_none(node: cst.CSTNode | None) -> bool:
    return type(node) is cst.Name and node.value == "None"
