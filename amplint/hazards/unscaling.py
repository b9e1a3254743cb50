"""Who unscales? Where nobody does, a scaler's step is what unscales, and what was done with gradients before came too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import libcst as cst

from amplint.lowering.graph_tools import events_in
from amplint.lowering.program import Program
from amplint.model.event_graph import Call, Function
from amplint.model.events import Clip, Escape, GradAccess, ScalerStep
from amplint.syntax.access_paths import called_name
from amplint.syntax.classes import ClassInfo
from amplint.syntax.tree import Tree

_UNSCALES = "unscale"
"""What every name that has to do with it holds."""
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
        """Whether the scaler of a call is made where it is used; that of a class with bases may be theirs."""
        owner = self._program.classes.owner(call)
        made = isinstance(call.func, cst.Attribute) and bool(self._program.roles.of(call.func.value).maker)
        return made and (owner is None or not owner.bases)

    def nobody_before(self, key: str, functions: Mapping[str, Function]) -> bool:
        """Whether nobody in sight can have unscaled, or divided by hand, what a function finds in the gradients.

        Args:
            key: that of the function, which nothing in the file calls.
            functions: the graphs of all functions.
        """
        below = reached_from(key, functions)
        kinds = {type(each) for name in below for each in events_in(functions[name].body)}
        # What gets hold of a scaler, and is not known, may unscale.
        if Escape in kinds or ScalerStep not in kinds or kinds.isdisjoint({Clip, GradAccess}):
            return False
        if self.for_others or self._is_unscaled_around(self._program.definition(key)):
            return False
        others = (function for name, function in functions.items() if name not in below)
        return not any(isinstance(each, GradAccess) and each.writes for one in others for each in events_in(one.body))

    def _is_unscaled_around(self, node: cst.FunctionDef | cst.Module) -> bool:
        """Whether the class of a function unscales, or a base; outside of classes, whether anything in the file does."""
        owner = self._program.classes.owner(node)
        if owner is None:
            return bool(self._rows)
        homes = [self._program.tree.home(each.node) for each in owner.lineage]
        if any(home is not self._program.tree and _speaks(home) for home in homes):
            return True
        return any(around is not None and around in owner.lineage for _, around in self._own)


def reached_from(key: str, functions: Mapping[str, Function]) -> Collection[str]:
    """The keys of a function and of all that it may call.

    Args:
        key: that of the function.
        functions: the graphs of all functions.
    """
    found, waiting = {key}, [key]
    while waiting:
        called = {each.function for each in events_in(functions[waiting.pop()].body) if isinstance(each, Call)}
        waiting += called - found
        found |= called
    return found


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
