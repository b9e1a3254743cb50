"""The objects that other files give the parameters of a file."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Position, Range, Related
from amplint.model.caller_contexts import ObjectElsewhere
from amplint.syntax.classes import Classes
from amplint.syntax.names import dotted
from amplint.syntax.tree import Tree


class ToldObjects:
    """What the callers of one file have said of the objects that they give it.

    Args:
        tree: the file.
        classes: the classes in sight.
    """

    def __init__(self, tree: Tree, classes: Classes) -> None:
        self._tree, self._classes = tree, classes
        told = tree.source.place.entered if tree.source.place is not None else ()
        self._told = {each.asked[1:3]: each for each in told if isinstance(each, ObjectElsewhere)}

    @property
    def any(self) -> bool:
        """Whether callers have said anything."""
        return bool(self._told)

    def told_of(self, source: cst.Param | cst.Call) -> ObjectElsewhere | None:
        """What callers give a parameter, or a call gives back, as far as other files have said it.

        Args:
            source: the parameter, or the call.
        """
        if not self._told:
            return None
        if isinstance(source, cst.Call):
            return self._told.get(("", made_by(source)))
        return self._told.get((taker_of(source, self._tree, self._classes), source.name.value))

    @staticmethod
    def related(told: ObjectElsewhere) -> Related:
        """Where another file makes an object, as a second location.

        Args:
            told: what that file has said.
        """
        start, end = Position(told.row, told.column, 0), Position(told.end_row, told.end_column, 0)
        return Related("made here", Range(start, end), told.file)


def made_by(call: cst.Call) -> str:
    """How a call that makes an object is asked for: what it calls; empty where that has no name."""
    return dotted(call.func)


def taker_of(param: cst.Param, tree: Tree, classes: Classes) -> str:
    """The function at the top of a file, or the class whose constructor it is, that has a parameter; empty for any other.

    Args:
        param: the parameter.
        tree: the file.
        classes: its classes.
    """
    function = tree.enclosing(param, cst.FunctionDef)
    if not isinstance(function, cst.FunctionDef) or tree.root(function) is not tree.module:
        return ""
    if function in tree.module.body:
        return function.name.value
    info = classes.owner(function) if function.name.value == "__init__" else None
    return info.name if info is not None and info.node in tree.module.body else ""
