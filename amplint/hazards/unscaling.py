"""Who unscales? Where nobody does, a scaler's step is what unscales, and what was done with gradients before came too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cached_property

import libcst as cst

from amplint.hazards.function_events import FunctionEvents
from amplint.lowering.program import Program
from amplint.model.events import Clip, Escape, GradAccess, ScalerStep
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.class_info import ClassInfo, is_only_announced
from amplint.syntax.tree import Tree

_UNSCALES = "unscale"
"""What every name that has to do with it holds."""
_PROGRAM = "__main__"
"""What a file says that is run by itself."""
_MAX_CALLERS = 3
_WORD = re.compile(r"\w*unscale\w*")


class Unscaling:
    """Who unscales in one file, and for whom: with a scaler that it makes itself, or with one of somebody else's.

    Args:
        program: the file, and those that it leads to.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def for_others(self) -> bool:
        """Whether the file may unscale what other files have scaled: it speaks of it other than for a scaler of its own."""
        return bool(self._rows - {row for row, _ in self._own})

    @cached_property
    def _rows(self) -> frozenset[int]:
        """The rows of the file that speak of it."""
        if _UNSCALES not in self._program.tree.source.text:
            return frozenset()
        return frozenset(row for node in ast.walk(self._program.tree.python) for row in _speaking(node))

    @cached_property
    def _own(self) -> list[tuple[int, ClassInfo | None]]:
        """The rows in which a scaler unscales that the same function, module or class makes, with the class."""
        return [
            (self._program.tree.range(call).start.row, self._program.classes.owner(call))
            for call in self._program.tree.find(cst.Call)
            if called_name(call) == "unscale_" and self._is_own(call)
        ]

    def _is_own(self, call: cst.Call) -> bool:
        """Whether the scaler of a call is made where it is used, or given by callers in the file that make theirs."""
        return isinstance(call.func, cst.Attribute) and self._is_made(call.func.value, _MAX_CALLERS)

    def _is_made(self, scaler: cst.BaseExpression, depth: int) -> bool:
        """Whether a scaler is one of the file's own; that of a class with bases may be theirs."""
        owner = self._program.classes.owner(scaler)
        if owner is not None and owner.bases:
            return False
        return bool(self._program.roles.of(scaler).maker) or (depth > 0 and self._is_given(scaler, depth - 1))

    def _is_given(self, scaler: cst.BaseExpression, depth: int) -> bool:
        """Whether a scaler is a parameter that every call in the file gives a scaler of its own; from a program, unlike from a
        collection of helpers, no other file takes the function to call it with theirs."""
        if _PROGRAM not in self._program.tree.source.text:
            return False
        bindings = self._program.names.bindings(scaler.value, scaler) if isinstance(scaler, cst.Name) else []
        param = bindings[0].node if len(bindings) == 1 else None
        function = self._program.tree.enclosing(param, cst.FunctionDef) if isinstance(param, cst.Param) else None
        if not isinstance(param, cst.Param) or not isinstance(function, cst.FunctionDef):
            return False
        callers = self._program.callees.callers(function)
        given = [given_by(call, function, param.name.value) for call in callers]
        return (
            bool(given)
            and self._is_only_called(function)
            and all(each is not None and self._is_made(each, depth) and not self._is_shared(each) for each in given)
        )

    def _is_only_called(self, function: cst.FunctionDef) -> bool:
        """Whether a function is handed to nobody, who may call it with another scaler."""
        names = (each for each in self._program.tree.find(cst.Name) if each.value == function.name.value)
        parents = ((each, self._program.tree.parent(each)) for each in names if each is not function.name)
        return all(isinstance(parent, cst.Call) and parent.func is name for name, parent in parents)

    def _is_shared(self, scaler: cst.BaseExpression) -> bool:
        """Whether an object is given a scaler as an attribute, under which others may know it."""
        name = path_of(scaler)
        for each in self._program.tree.find(cst.Assign):
            targets = [target.target for target in each.targets]
            others = [target for target in targets if path_of(target) != name]
            is_meant = path_of(each.value) == name or len(others) < len(targets)
            if is_meant and any(isinstance(other, cst.Attribute) for other in others):
                return True
        return False

    def nobody_before(self, key: str, functions: FunctionEvents) -> bool:
        """Whether nobody in sight can have unscaled, or divided by hand, what a function finds in the gradients.

        Args:
            key: that of the function, which nothing in the file calls.
            functions: the events of all functions.
        """
        below = functions.reached(key)
        kinds = {type(each) for name in below for each in functions.of(name)}
        # What gets hold of a scaler, and is not known, may unscale.
        if Escape in kinds or ScalerStep not in kinds or kinds.isdisjoint({Clip, GradAccess}):
            return False
        definition = self._program.definition(key)
        if self.for_others or self._is_unscaled_around(definition) or self._is_handed_out(definition, functions):
            return False
        return not self._is_of_another(below, definition, functions) and functions.writing.issubset(below)

    def _is_unscaled_around(self, node: cst.FunctionDef | cst.Module) -> bool:
        """Whether the class of a function unscales, or a class that it has to do with may.

        Outside of classes, anything in the file may; a function may unscale the gradients of a class.
        """
        owner = self._program.classes.owner(node)
        if owner is None:
            return bool(self._rows)
        if not _is_all_there(owner) or any(around is None for _, around in self._own):
            return True
        homes = [self._program.tree.home(each.node) for each in owner.lineage]
        if any(home is not self._program.tree and _speaks(home) for home in homes):
            return True
        return any(around is not None and around in owner.lineage for _, around in self._own)

    def _is_handed_out(self, node: cst.FunctionDef | cst.Module, functions: FunctionEvents) -> bool:
        """Whether a class, or outside of classes the file, gives the scaler, or the instance, to something unknown."""
        owner = self._program.classes.owner(node)
        scopes = [info.node for info in owner.lineage] if owner is not None else [self._program.tree.module]
        unknown = (self._program.places[site] for site in functions.escapes)
        return any(
            any(above in scopes for above in self._program.tree.ancestors(call)) and self._gives(call)
            for call in unknown
        )

    def _is_of_another(
        self, below: Collection[str], node: cst.FunctionDef | cst.Module, functions: FunctionEvents
    ) -> bool:
        """Whether gradients whose optimizer is not known may be those of one that steps without the scaler: the class of a
        function has an optimizer that neither the function nor what it calls steps."""
        events = [each for name in below for each in functions.of(name)]
        stepped = {each.optimizer for each in events if isinstance(each, ScalerStep)}
        objects = [facts for name in below for facts in functions.graphs[name].objects.values()]
        owned = {owner for facts in objects if facts.role == "optimizer" for owner in facts.owners}
        uses = [each for each in events if isinstance(each, (Clip, GradAccess))]
        if all(owned.intersection(each.owners) or (isinstance(each, Clip) and each.optimizer) for each in uses):
            return False
        owner = self._program.classes.owner(node)
        return owner is not None and bool(self._optimizers_of(owner) - stepped)

    def _optimizers_of(self, info: ClassInfo) -> set[str]:
        """The attributes of a class that are single optimizers, as its methods write them."""
        tree = self._program.tree
        written = [each for base in info.lineage for each in tree.inside(base.node, cst.Attribute)]
        own = [each for each in written if path_of(each.value) == "self"]
        several = {path_of(each) for each in own if isinstance(tree.parent(each), (cst.Subscript, cst.For))}
        return {path_of(each) for each in own if self._program.roles.of(each).role == "optimizer"} - several

    def _gives(self, call: cst.CSTNode) -> bool:
        given = [arg.value for arg in call.args] if isinstance(call, cst.Call) else []
        return any(path_of(each) == "self" or self._program.roles.of(each).role == "scaler" for each in given)


def _is_all_there(info: ClassInfo) -> bool:
    """Whether every method of a class is in sight: nothing comes from an unknown base, or is left to classes below."""
    methods = {name: node for each in reversed(info.lineage) for name, node in each.methods.items()}
    return info.closed and not any(map(is_only_announced, methods.values()))


def _speaking(node: ast.AST) -> Iterator[int]:
    """The row of a node of Python's tree, if its name, or the whole of its text, is about unscaling."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word) | ast.arg(arg=word):
            told = word
        case ast.FunctionDef(name=word) | ast.keyword(arg=word) | ast.Constant(value=word):
            told = word if isinstance(word, str) else ""
        case _:
            return
    if _UNSCALES in told and _WORD.fullmatch(told.rpartition(".")[2]):
        yield getattr(node, "end_lineno", 0) or 0


def _speaks(tree: Tree) -> bool:
    return _UNSCALES in tree.source.text
