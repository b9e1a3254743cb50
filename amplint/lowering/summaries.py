"""Functions and what they do: which function a call runs, and its graph (its summary), made once when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.lowering.access import path_of
from amplint.lowering.arguments import Arguments
from amplint.lowering.classes import Classes, ClassInfo
from amplint.lowering.conditions import constant, words
from amplint.lowering.contexts import Contexts
from amplint.lowering.flow import FunctionReader
from amplint.lowering.imports import Imports
from amplint.lowering.names import Names
from amplint.lowering.readings import Readings
from amplint.lowering.reports import Reports
from amplint.lowering.roles import Roles
from amplint.lowering.scope import FunctionScope
from amplint.lowering.tree import Tree
from amplint.model.graph import Function

MODULE = "<module>"
_WORTH_FOLLOWING = re.compile(
    r"loss|optim|(^|_)opts?$|scal|param|grad|step|backward|clip|train|update|sched|amp|model|net($|_)|criterion",
    re.IGNORECASE,
)
"""A call in which no word says that it has to do with training is not followed into another file."""
_MAX_ELSEWHERE = 120
"""So many functions of other files are looked into; what lies beyond is unknown."""


@dataclass(frozen=True)
class Callee:
    """A function that a call runs: its key, its definition, the path of the object it is called on, and how that was made."""

    key: str
    node: cst.FunctionDef
    receiver: str | None = None
    made: cst.Call | None = None


class Program:
    """All functions of one file and those of other files that it calls, and the numbers (sites) of the places that their
    graphs speak of.

    With `abroad`, the functions of other files know what this file gives them.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        classes: Classes,
        contexts: Contexts,
        imports: Imports,
        abroad: bool = True,
    ) -> None:
        self.tree = tree
        self.names = names
        self.classes = classes
        self.contexts = contexts
        self.imports = imports
        arguments = Arguments(tree, names, classes, imports, abroad)
        self.roles = Roles(tree, names, classes, contexts, imports, arguments)
        self.places: list[cst.CSTNode] = []
        self._sites: dict[cst.CSTNode, int] = {}
        self._graphs: dict[str, Function] = {}
        self._elsewhere: dict[str, cst.FunctionDef] = {}
        self.readings = Readings(tree)
        self.reports = Reports(tree)
        self.amp_tests: set[cst.If] = set()
        """The `if` statements that ask whether AMP is on."""
        self.amp_needed: set[cst.If] = set()
        """The `if` statements that ask whether AMP is on, and perhaps whether there is a device for it."""
        self.varying_tests: set[cst.If] = set()
        """The `if` statements that may come out differently from one iteration to the next."""

    @cached_property
    def unscales(self) -> bool:
        """Whether anything in the file calls `unscale_`."""
        called = (call.func for call in self.tree.find(cst.Call))
        return any(isinstance(func, cst.Attribute) and func.attr.value == "unscale_" for func in called)

    # -- places ----------------------------------------------------------------------------------------------------

    def site(self, node: cst.CSTNode) -> int:
        """The number of a place."""
        if node not in self._sites:
            self._sites[node] = len(self.places)
            self.places.append(node)
        return self._sites[node]

    # -- functions -------------------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> dict[str, cst.FunctionDef | cst.Module]:
        """All functions of the file by key, and the module itself."""
        found: dict[str, cst.FunctionDef | cst.Module] = {MODULE: self.tree.module}
        for node in self.tree.find(cst.FunctionDef):
            found[self.key(node)] = node
        return found

    def key(self, node: cst.FunctionDef) -> str:
        """The name of a function in this file, outer functions and classes first; its site tells namesakes apart."""
        outer = [
            above.name.value
            for above in self.tree.ancestors(node)
            if isinstance(above, (cst.FunctionDef, cst.ClassDef))
        ]
        return f"{'.'.join(reversed([node.name.value, *outer]))}@{self.site(node)}"

    def graph(self, key: str) -> Function:
        """The graph of a function."""
        if key not in self._graphs:
            self._graphs[key] = FunctionReader(self, self.definition(key), key).function()
        return self._graphs[key]

    def graphs(self) -> dict[str, Function]:
        """The graphs of all functions of the file, and of all in other files that they lead to."""
        for key in self.definitions:
            self.graph(key)
        for node in self.templates:
            self._callee(node, "self")
        self._follow()
        return {key: self._graphs[key] for key in (*self.definitions, *self._elsewhere)}

    def graphs_below(self, node: cst.FunctionDef) -> tuple[str, dict[str, Function]]:
        """The key of one function of another file, and the graphs of all that it leads to."""
        self._elsewhere[self.key(node)] = node
        self._follow()
        return self.key(node), self._graphs

    def _follow(self) -> None:
        """Make the graphs of the functions in other files that the graphs made so far lead to."""
        while missing := self._elsewhere.keys() - self._graphs.keys():
            for key in sorted(missing):
                self.graph(key)

    @cached_property
    def templates(self) -> list[cst.FunctionDef]:
        """The methods of other files that classes of this one inherit, and that call what these classes override."""
        found: dict[cst.FunctionDef, None] = {}
        for info in self.classes.by_node.values():
            abroad = [base for base in info.lineage[1:] if self.tree.root(base.node) is not self.tree.module]
            names = {name for base in abroad for name in base.methods if not name.startswith("__")}
            own = names & info.methods.keys()
            inherited = (info.method(name) for name in sorted(names - own)) if own else ()
            found.update((node, None) for node in inherited if node is not None and own.intersection(words(node)))
        return list(found)

    def _callee(
        self, node: cst.FunctionDef, receiver: str | None = None, made: cst.Call | None = None
    ) -> Callee | None:
        """A function as what a call runs; None for one too many in other files."""
        key = self.key(node)
        if self.tree.root(node) is not self.tree.module and key not in self._elsewhere:
            if len(self._elsewhere) >= _MAX_ELSEWHERE:
                return None
            self._elsewhere[key] = node
        return Callee(key, node, receiver, made)

    def definition(self, key: str) -> cst.FunctionDef | cst.Module:
        """The function of a key, in this file or in another one."""
        return self._elsewhere[key] if key in self._elsewhere else self.definitions[key]

    def for_itself(self) -> Program:
        """The same files, where those that this one calls do not know what it gives them."""
        return Program(self.tree, self.names, self.classes, self.contexts, self.imports, abroad=False)

    def shared_name(self, name: str, inside: cst.CSTNode) -> str:
        """A module-level name as this file would call it: what another file defines goes by its full name, unless imported."""
        module = self.imports.module(inside)
        if not module:
            return name
        return self._imported_as.get(f"{module}.{name}", f"{module}:{name}".replace(".", "/"))

    @cached_property
    def _imported_as(self) -> dict[str, str]:
        return {
            absolute: name
            for name, bindings in self.names.bindings_in(self.tree.module).items()
            for binding in bindings
            if isinstance(binding.node, cst.ImportAlias) and (absolute := self.imports.absolute(binding.qualified))
        }

    def is_closure(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a function around `node` binds the name, so that it is no module-level variable there."""
        return any(
            isinstance(above, cst.FunctionDef) and name in self.names.bindings_in(above)
            for above in (node, *self.tree.ancestors(node))
        )

    def leads_elsewhere(self) -> bool:
        """Whether some call runs a function of another file."""
        calls = self.tree.find(cst.Call)
        home = {call: self.tree.enclosing(call, cst.FunctionDef) or self.tree.module for call in calls}
        found = (self.callee(call, home[call]) for call in calls)
        return any(each is not None and each.key in self._elsewhere for each in found)

    # -- calls -----------------------------------------------------------------------------------------------------

    def callee(self, call: cst.Call, inside: cst.CSTNode) -> Callee | None:
        """The function that a call is known to run, in this file or in another one."""
        func = call.func
        abroad = any(map(_WORTH_FOLLOWING.search, words(call)))
        if isinstance(func, cst.Name):
            found = self._named(func, inside, abroad)
            if found is not None:
                return found
            return self._instance_method(func, ("__call__", "forward"), func.value, abroad)
        if isinstance(func, cst.Attribute):
            return self._attribute(func, inside, abroad)
        return None

    def _named(self, func: cst.Name, inside: cst.CSTNode, abroad: bool) -> Callee | None:
        bindings = self._lookup(func.value, inside)
        if len(bindings) == 1 and isinstance(bindings[0], cst.FunctionDef):
            return self._callee(bindings[0])
        return self._imported(func) if abroad else None

    def _imported(self, func: cst.BaseExpression) -> Callee | None:
        found = self.imports.defined(func)
        return self._callee(found) if isinstance(found, cst.FunctionDef) else None

    def _lookup(self, name: str, inside: cst.CSTNode) -> list[cst.CSTNode | None]:
        """What binds a name for code in the function `inside`."""
        for scope in (inside, *self.tree.ancestors(inside)):
            if isinstance(scope, (cst.FunctionDef, cst.Module)):
                bindings = self.names.bindings_in(scope).get(name)
                if bindings:
                    return [binding.node for binding in bindings]
        return []

    def _attribute(self, func: cst.Attribute, inside: cst.CSTNode, abroad: bool) -> Callee | None:
        method, base = func.attr.value, func.value
        owner = self.classes.owner(inside)
        if owner is not None and path_of(base) == "self":
            found = owner.method(method)
            if found is not None:
                return self._callee(found, "self")
            return self._instance_method(func, ("__call__", "forward"), f"self.{method}", abroad)
        if owner is not None and isinstance(base, cst.Call) and path_of(base.func) == "super":
            parents = [info.method(method) for info in owner.bases]
            found = next((parent for parent in parents if parent is not None), None)
            return self._callee(found, "self") if found is not None else None
        through = self._instance_method(base, (method,), path_of(base), abroad)
        return through or (self._imported(func) if abroad else None)

    def _instance_method(
        self, instance: cst.BaseExpression, methods: tuple[str, ...], path: str, abroad: bool
    ) -> Callee | None:
        """The method that a call on an instance of a class whose source is at hand runs; also `abroad`, in another file."""
        info = self.class_of(instance, abroad)
        if info is None or not path:
            return None
        found = next((method for name in methods if (method := info.method(name)) is not None), None)
        return self._callee(found, path, self._maker(instance)) if found is not None else None

    def _maker(self, instance: cst.BaseExpression) -> cst.Call | None:
        """The only call that makes an object."""
        values = list(self.roles.values(instance))
        return values[0] if len(values) == 1 and isinstance(values[0], cst.Call) else None

    def class_of(self, instance: cst.BaseExpression, abroad: bool = True) -> ClassInfo | None:
        """The class of the object that an expression names, if its source is at hand; also `abroad`, in another file."""
        if path_of(instance) in ("", "self"):
            return None
        values = list(self.roles.values(instance)) or list(self.roles.given(instance))
        infos = {self.classes.instance_of(value, abroad) for value in values}
        return infos.pop() if len(infos) == 1 else None

    def binding(self, callee: Callee, call: cst.Call, caller: FunctionScope) -> tuple[tuple[str, str], ...]:
        """What the parameters of a called function mean to the caller; an empty reference is some other value."""
        bound = dict.fromkeys((param.name.value for param in _all_params(callee.node)), "")
        for name, value in self._given(callee, call, caller):
            bound[name] = value if isinstance(value, str) else caller.ref(value) if constant(value) is None else ""
        return (*self._kept(callee, caller), *bound.items())

    def _kept(self, callee: Callee, caller: FunctionScope) -> Iterator[tuple[str, str]]:
        """The attributes that keep what the constructor of an object was given, with what the caller calls it."""
        info = self.classes.instance_of(callee.made) if callee.made is not None else None
        init = info.method("__init__") if info is not None else None
        if info is None or init is None or callee.made is None:
            return
        given = {
            name: value
            for name, value in self._given(Callee(callee.key, init, ""), callee.made, caller)
            if not isinstance(value, str) and caller.names_the_same(value, callee.made)
        }
        for attribute, values in info.attributes.items():
            kept = values[0].value if len(values) == 1 and isinstance(values[0], cst.Name) else ""
            if kept in given and self.tree.enclosing(values[0], cst.FunctionDef) is init and caller.ref(given[kept]):
                yield f"self.{attribute}", caller.ref(given[kept])

    def truths(self, callee: Callee, call: cst.Call, caller: FunctionScope) -> tuple[tuple[str, bool], ...]:
        """The parameters that a call gives a constant, or leaves at one, with its truth."""
        found = {
            param.name.value: truth
            for param in _all_params(callee.node)
            if param.default is not None and (truth := constant(param.default)) is not None
        }
        for name, value in self._given(callee, call, caller):
            truth = None if isinstance(value, str) else constant(value)
            found.pop(name, None)
            if truth is not None:
                found[name] = truth
        return tuple(found.items()) if not any(arg.star for arg in call.args) else ()

    def _given(
        self, callee: Callee, call: cst.Call, caller: FunctionScope
    ) -> Iterator[tuple[str, str | cst.BaseExpression]]:
        """Each parameter that a call fills, with the expression it gets; the receiver as a reference."""
        params = callee.node.params
        names = {param.name.value for param in _all_params(callee.node)}
        positional = [param.name.value for param in (*params.posonly_params, *params.params)]
        if callee.receiver is not None and positional and not self._is_static(callee.node):
            yield positional.pop(0), caller.qualify(callee.receiver)
        free = iter(positional)
        for arg in call.args:
            if arg.star:
                break
            name = arg.keyword.value if arg.keyword is not None else next(free, "")
            if name in names:
                yield name, arg.value

    def _is_static(self, node: cst.FunctionDef) -> bool:
        return any(self.names.all_in(decorator.decorator, {"builtins.staticmethod"}) for decorator in node.decorators)


def _all_params(node: cst.FunctionDef) -> list[cst.Param]:
    return [*node.params.posonly_params, *node.params.params, *node.params.kwonly_params]
