"""The event graph of each function, made once when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from amplint.lowering.compound_statements import BlockReader
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_scope import FunctionScope
from amplint.lowering.graph_tools import events_in
from amplint.lowering.mode_branches import with_modes_throughout
from amplint.lowering.program import Program
from amplint.lowering.pruning import prune, without_idle_forwards
from amplint.model.event_graph import Call, Function, Node, Scoped
from amplint.syntax.call_arguments import params_of


class Graphs:
    """The graphs of all functions of one file, and of those in other files that they lead to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._made: dict[str, Function] = {}

    def of(self, key: str) -> Function:
        """The graph of a function."""
        if key not in self._made:
            self._made[key] = _graph(self.program, key)
        return self._made[key]

    def all(self) -> dict[str, Function]:
        """The graphs of all functions of the file, and of all in other files that they lead to."""
        return self._and_below(self.program.definitions)

    def telling(self) -> dict[str, Function]:
        """The graphs of the functions of the file in which gradients are computed or scaled, or that lead to such, and of all
        that they lead to, in other files, too."""
        for node in self.program.templates:
            self.program.enter(node)
        return self._and_below(self.program.telling())

    def _and_below(self, keys: Iterable[str]) -> dict[str, Function]:
        for key in keys:
            self.of(key)
        self._follow()
        everything = (*self.program.definitions, *self.program.elsewhere)
        return {key: self._made[key] for key in everything if key in self._made}

    def below(self, node: cst.FunctionDef) -> tuple[str, dict[str, Function]]:
        """The key of one function of another file, and the graphs of all that it leads to."""
        key = self.program.key(node)
        self.program.elsewhere[key] = node
        self._follow()
        return key, self._made

    def _follow(self) -> None:
        """Make the graphs of the functions that the graphs made so far lead to, in other files, too."""
        followed: set[str] = set()
        while missing := {*self.program.elsewhere, *self._called(followed)} - self._made.keys():
            for key in sorted(missing):
                self.of(key)

    def _called(self, followed: set[str]) -> set[str]:
        """What the graphs call that were not looked at before."""
        new = self._made.keys() - followed
        followed |= new
        return {each.function for key in new for each in events_in(self._made[key].body) if isinstance(each, Call)}


def _graph(program: Program, key: str) -> Function:
    node = program.definition(key)
    scope = FunctionScope(program, node)
    reader = BlockReader(FunctionBuilder(scope))
    body: Node = reader.read(node if isinstance(node, cst.Module) else node.body)
    reader.close()
    params: tuple[str, ...] = ()
    around = program.tree.enclosing(node, cst.FunctionDef)
    # A function in a method means the object of that by `self`.
    is_closure = isinstance(program.tree.enclosing(node, cst.FunctionDef, cst.ClassDef), cst.FunctionDef)
    local = frozenset[str]() if is_closure else frozenset({"self"})
    if isinstance(node, cst.FunctionDef):
        for region in reversed(program.contexts.decorating(node)):
            body = Scoped(program.site(node), region, body)
        params, local = tuple(param.name.value for param in params_of(node)), local.union(scope.bound)
    body = prune(without_idle_forwards(with_modes_throughout(body)), program.fields_asked(node))
    nest = program.key(around) if isinstance(around, cst.FunctionDef) else ""
    return Function(key, params, body, local, scope.objects, program.site(node), scope.opaque, nest)
