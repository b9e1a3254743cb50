"""What wrappers say of classes: which class a base stands for, by what the file makes, and what a factory hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import libcst as cst

from amplint.model.libraries import told_in
from amplint.syntax import literal_dispatch
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.names import Names
from amplint.syntax.project_imports import Definition, Imports
from amplint.syntax.tree import Tree


class LibraryClasses:
    """The classes of libraries that one file leads to.

    Args:
        tree: the file.
        names: what its names mean.
        imports: leads to the wrappers.
        instance_of: the class that a call makes an object of.
        supposing: whether a library is taken to drive whatever classes it may, although the file makes nothing that does.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        imports: Imports,
        instance_of: Callable[[cst.BaseExpression], ClassInfo | None],
        supposing: bool,
    ) -> None:
        self._tree, self._names, self._imports, self._instance_of = tree, names, imports, instance_of
        self._supposing = supposing
        self._bases: dict[Definition, bool] = {}
        self._undriven: set[Definition | None] = set()
        self._returned: dict[cst.FunctionDef, ClassInfo | None] = {}
        self.maker: cst.Call | None = None
        """The call that makes what drives classes, as far as that was asked for."""

    def base(self, function: cst.FunctionDef) -> Definition | None:
        """The class that a function of a wrapper stands for where the text makes what its parameters are annotated with.

        `def LightningModule(trainer: Trainer): return Scaled` is the class `Scaled` to a file with a `Trainer` that scales.
        """
        drivers = [each.annotation.annotation for each in function.params.params if each.annotation is not None]
        returned = literal_dispatch.only_return(function)
        found = self._imports.defined(returned) if drivers and returned is not None else None
        if found is None:
            return None
        makers = [self._maker(each) for each in drivers]
        made = self._bases[found] = None not in makers
        self.maker = makers[0] or self.maker
        if not made:
            self._undriven.add(function)
        return found if made or self._supposing else None

    def driven(self, info: ClassInfo) -> bool:
        """Whether a library drives the objects of a class in a way that it would not without what this file makes."""
        return any(isinstance(base.node, cst.ClassDef) and self._bases.get(base.node) for base in info.lineage)

    def undriven(self, classes: Iterable[ClassInfo]) -> list[ClassInfo]:
        """Those of some classes that a library would drive in another way if the file made what does so."""
        names = {info: {name for base in info.lineage for name in base.base_names} for info in classes}
        return [info for info in names if any(self._imports.definition(name) in self._undriven for name in names[info])]

    def _maker(self, name: cst.BaseExpression) -> cst.Call | None:
        """The call in the file that makes an object of a class, or something by a function of a wrapper, which does so for
        certain literals only."""
        maker = self._imports.defined(name)
        for call in self._tree.find(cst.Call) if maker is not None else ():
            if all(self._imports.defined(each) is not maker for each in _chosen(call)):
                continue
            if not isinstance(maker, cst.FunctionDef):
                return call
            if literal_dispatch.returned_for(maker, call, self._tree, self._names) is not None:
                return call
        return None

    def handed_out(self, function: cst.FunctionDef | None) -> ClassInfo | None:
        """The class of a library, as a wrapper tells it, whose object is all that a function returns."""
        if function is None or not self._told or self.is_of_wrapper(function):
            return None
        if function not in self._returned:
            self._returned[function] = None  # stands while it is worked out: a function may call itself
            values = [each.value for each in self._tree.inside(function, cst.Return)]
            only = values[0] if len(values) == 1 else None
            bound = self._names.bindings(only.value, only) if isinstance(only, cst.Name) else []
            made = bound[0].value if len(bound) == 1 else only
            info = self._instance_of(made) if isinstance(made, cst.Call) else None
            self._returned[function] = info if info is not None and self.is_of_wrapper(info.node) else None
        return self._returned[function]

    def returned(self, call: cst.Call) -> cst.BaseExpression | None:
        """What a call of a function of a wrapper returns, as far as the literals among its arguments decide that."""
        function = self._imports.defined(call.func) if self._told else None
        if not isinstance(function, cst.FunctionDef) or not self.is_of_wrapper(function):
            return None
        return literal_dispatch.returned_for(function, call, self._tree, self._names)

    def is_of_wrapper(self, node: cst.CSTNode) -> bool:
        """Whether a node stands in what amplint says of a library, and not in code of the project."""
        return self._tree.home(node).source.path.endswith(".pyi")

    @cached_property
    def _told(self) -> bool:
        """Whether the text tells a library to scale."""
        return bool(told_in(self._tree.source.text.encode()))


def _chosen(call: cst.Call) -> list[cst.BaseExpression]:
    """What a call may call: `(AMPTrainer if amp else SimpleTrainer)(model)`, `Trainer.from_argparse_args(args)`."""
    match call.func:
        case cst.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case cst.Attribute(value=cst.Name() | cst.Attribute() as maker, attr=cst.Name(value="from_argparse_args")):
            return [maker]
    return [call.func]
