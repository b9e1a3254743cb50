"""The classes of the objects that other files give the parameters of a file."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from amplint.model.caller_contexts import ObjectElsewhere
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree


class ToldObjects:
    """What the callers of one file have said of the objects that they give it.

    Args:
        tree: the file.
        classes: the classes in sight.
        imports: leads to the classes of other files.
    """

    def __init__(self, tree: Tree, classes: Classes, imports: Imports) -> None:
        self._tree, self._classes, self._imports = tree, classes, imports
        told = tree.source.place.entered if tree.source.place is not None else ()
        self._told = {each.asked[1:]: each for each in told if isinstance(each, ObjectElsewhere)}

    def class_of(self, param: cst.Param) -> ClassInfo | None:
        """The class of what callers give a parameter, as far as that is told.

        Args:
            param: the parameter.
        """
        owner = taker_of(param, self._tree, self._classes) if self._told else ""
        told = self._told.get((owner, param.name.value))
        node = self._imports.class_at(Path(told.file), told.name) if told is not None else None
        return self._classes.of(node) if node is not None else None


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
