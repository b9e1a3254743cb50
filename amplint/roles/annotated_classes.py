"""Of which class an object is by an annotation: that of a parameter, or of the variable that it is assigned to."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from amplint.roles.told_objects import ToldObjects
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import is_only_announced
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.names import Names
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree


class AnnotatedClasses:
    """Finds the classes that annotations of one file name, if their source is at hand.

    Args:
        tree: the file.
        names: what its names mean.
        classes: the classes in sight.
        imports: leads to the classes of other files.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, imports: Imports) -> None:
        self._tree, self._names, self._classes, self._imports = tree, names, classes, imports
        self._told_elsewhere = ToldObjects(tree, classes)

    def parameter(self, node: cst.BaseExpression) -> cst.Param | None:
        """The parameter that a name stands for, also where the function gives it another value.

        Args:
            node: any expression.
        """
        bindings = self._names.bindings(node.value, node) if type(node) is cst.Name else []
        params = [each.node for each in bindings if type(each.node) is cst.Param]
        return params[0] if len(params) == 1 else None

    def of_parameter(self, instance: cst.BaseExpression, abroad: bool) -> ClassInfo | None:
        """The class that a parameter is annotated with, unless that leaves anything to subclasses; else the class of what callers
        in other files have said that they give.

        Args:
            instance: what may name a parameter.
            abroad: whether the class may stand in another file.
        """
        param = self.parameter(instance)
        if param is not None and param.annotation is None:
            told = self._told_elsewhere.told_of(param)
            node = self._imports.class_at(Path(told.file), told.name) if told is not None else None
            return self._classes.of(node) if node is not None else None
        note = param.annotation.annotation if param is not None and param.annotation is not None else None
        info = self._meant_by(note, abroad) if note is not None else None
        return None if info is None or any(map(is_only_announced, info.methods.values())) else info

    def of_variable(self, instance: cst.BaseExpression, abroad: bool) -> ClassInfo | None:
        """The class of modules that a local name is annotated with where it is assigned: `task: Task = self.task`.

        What a schedule or an optimizer does, its role tells.

        Args:
            instance: what may name a variable.
            abroad: whether the class may stand in another file.
        """
        bindings = self._names.bindings(instance.value, instance) if type(instance) is cst.Name else []
        assigns = [self._tree.parent(each.node) for each in bindings if each.node is not None]
        noted = assigns[0] if len(assigns) == len(bindings) == 1 else None
        info = self._meant_by(noted.annotation.annotation, abroad) if isinstance(noted, cst.AnnAssign) else None
        return info if info is not None and info.is_module else None

    def _meant_by(self, note: cst.BaseExpression, abroad: bool) -> ClassInfo | None:
        """The class that an annotation names, unless a class of this file is derived from it."""
        info = self._classes.named(_no_option(note), abroad)
        return None if info is None or any(info in each.lineage[1:] for each in self._classes.own) else info


def _no_option(annotation: cst.BaseExpression) -> cst.BaseExpression:
    """What an annotation says of what is not None: `Saver` of `Saver | None` and of `Optional[Saver]`."""
    if type(annotation) is cst.BinaryOperation and path_of(annotation.right) == "None":
        return annotation.left
    if type(annotation) is cst.Subscript and path_of(annotation.value).rpartition(".")[2] == "Optional":
        inner = annotation.slice[0].slice
        return inner.value if isinstance(inner, cst.Index) else annotation
    return annotation
