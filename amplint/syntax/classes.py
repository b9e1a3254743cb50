"""Classes: their methods, what their attributes are assigned, and both through inheritance, also from other files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import libcst as cst

from amplint.syntax import literal_dispatch
from amplint.syntax.names import LOCAL, UNKNOWN, Names
from amplint.syntax.project_imports import Definition, Imports
from amplint.syntax.tree import Tree

_PLAIN_BASES = frozenset({"builtins.object", "torch.nn.Module", "torch.autograd.Function", "abc.ABC", "typing.Generic"})


class ClassInfo:
    """One class. `attributes` are the values that any method assigns to `self.<name>`, or the class body to `<name>`.

    Args:
        node: its definition.
        names: what the names of its file mean.
        lookup: finds a base class by its qualified name; None where its source is not at hand.
    """

    def __init__(self, node: cst.ClassDef, names: Names, lookup: Callable[[str], ClassInfo | None]) -> None:
        self.node = node
        self.name = node.name.value
        self._lookup = lookup
        self.base_names = frozenset().union(*(names.resolve(base.value) for base in node.bases if not base.keyword))
        self.methods: dict[str, cst.FunctionDef] = {}
        self.attributes: dict[str, list[cst.BaseExpression]] = {}
        for statement in node.body.body:
            if isinstance(statement, cst.FunctionDef):
                self.methods[statement.name.value] = statement
            elif isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._class_level(small)

    def _class_level(self, statement: cst.BaseSmallStatement) -> None:
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                if isinstance(target.target, cst.Name):
                    self.add(target.target.value, statement.value)
        elif isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name) and statement.value:
            self.add(statement.target.value, statement.value)

    def add(self, name: str, value: cst.BaseExpression) -> None:
        """File a value that is assigned to the attribute.

        Args:
            name: the attribute of `self`.
            value: the expression that is assigned.
        """
        self.attributes.setdefault(name, []).append(value)

    @cached_property
    def bases(self) -> list[ClassInfo]:
        """The bases whose source is at hand."""
        found = (self._lookup(name) for name in sorted(self.base_names))
        return [info for info in found if info is not None and info is not self]

    @property
    def lineage(self) -> list[ClassInfo]:
        """The class, then its bases whose source is at hand, nearest first."""
        found: list[ClassInfo] = []
        waiting = [self]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found.append(current)
                waiting.extend(current.bases)
        return found

    def method(self, name: str) -> cst.FunctionDef | None:
        """The method that `self.<name>()` calls, if its source is at hand."""
        return next((info.methods[name] for info in self.lineage if name in info.methods), None)

    def values(self, attribute: str) -> list[cst.BaseExpression]:
        """Everything that is assigned to the attribute, in this class and its bases whose source is at hand."""
        return [value for info in self.lineage for value in info.attributes.get(attribute, ())]

    @property
    def closed(self) -> bool:
        """Whether the source of every base is at hand, or holds nothing of AMP: no method comes from elsewhere."""
        return all(
            name in _PLAIN_BASES or self._lookup(name) is not None for info in self.lineage for name in info.base_names
        )


class Classes:
    """All classes of a file, and those of other files that it leads to.

    Args:
        tree: the file.
        names: what its names mean.
        imports: leads to the classes of other files; without, those are unknown.
        supposing: whether a library is taken to drive whatever classes it may, although the file makes nothing that does.
    """

    def __init__(self, tree: Tree, names: Names, imports: Imports | None = None, supposing: bool = False) -> None:
        self._tree = tree
        self._names = names
        self._imports = imports or Imports(tree, names)
        self._infos: dict[cst.ClassDef, ClassInfo] = {}
        self._owners: dict[cst.CSTNode, ClassInfo] = {}
        self._supposing = supposing
        self._driven_bases: dict[Definition, bool] = {}
        self._undriven: set[Definition | None] = set()
        self.maker: cst.Call | None = None
        """The call that makes what drives classes, as far as that was asked for."""
        self.own = list(self._take(tree).values())
        self.by_name: dict[str, ClassInfo] = {info.name: info for info in self.own}

    def _take(self, tree: Tree) -> dict[cst.ClassDef, ClassInfo]:
        """Read the classes of one file."""
        infos = {node: ClassInfo(node, self._names, self._named) for node in tree.find(cst.ClassDef)}
        self._infos.update(infos)
        self._owners.update((method, info) for info in infos.values() for method in info.methods.values())
        self._collect_attributes(tree)
        return infos

    def _named(self, name: str) -> ClassInfo | None:
        """The class of a qualified name."""
        if name.startswith(f"{LOCAL}."):
            return self.by_name.get(name[len(LOCAL) + 1 :])
        node = self._imports.definition(name)
        if isinstance(node, cst.FunctionDef):
            node = self._driven(node)
        return self.of(node) if isinstance(node, cst.ClassDef) else None

    def _driven(self, function: cst.FunctionDef) -> Definition | None:
        """The class that a function of a wrapper stands for where the text makes what its parameters are annotated with.

        `def LightningModule(trainer: Trainer): return Scaled` is the class `Scaled` to a file with a `Trainer` that scales.
        """
        drivers = [each.annotation.annotation for each in function.params.params if each.annotation is not None]
        returned = literal_dispatch.only_return(function)
        found = self._imports.defined(returned) if drivers and returned is not None else None
        if found is None:
            return None
        makers = [self._maker(each) for each in drivers]
        made = self._driven_bases[found] = None not in makers
        self.maker = makers[0] or self.maker
        if not made:
            self._undriven.add(function)
        return found if made or self._supposing else None

    def driven(self, info: ClassInfo) -> bool:
        """Whether a library drives the objects of a class in a way that it would not without what this file makes."""
        return any(isinstance(base.node, cst.ClassDef) and self._driven_bases.get(base.node) for base in info.lineage)

    @property
    def undriven(self) -> list[ClassInfo]:
        """The classes of the file that a library would drive in another way if the file made what does so."""
        names = {info: {name for base in info.lineage for name in base.base_names} for info in self.own}
        return [
            info for info in self.own if any(self._imports.definition(name) in self._undriven for name in names[info])
        ]

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

    def of(self, node: cst.ClassDef) -> ClassInfo:
        """What is known about a class, whichever file it stands in."""
        if node not in self._infos:
            self._take(self._tree.home(node))
        return self._infos[node]

    def _collect_attributes(self, tree: Tree) -> None:
        for assign in tree.find(cst.Assign):
            for target in assign.targets:
                self._attribute(target.target, assign.value)
        for annotated in tree.find(cst.AnnAssign):
            if annotated.value is not None:
                self._attribute(annotated.target, annotated.value)

    def _attribute(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            same = isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements)
            for index, element in enumerate(target.elements):
                part = value.elements[index].value if same and isinstance(value, (cst.Tuple, cst.List)) else value
                self._attribute(element.value, part)
        elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
            info = self.owner(target)
            if info is not None and target.value.value == "self":
                info.add(target.attr.value, value)

    def owner(self, node: cst.CSTNode) -> ClassInfo | None:
        """The class whose method `node` stands in, also inside nested functions."""
        above: cst.CSTNode | None = node
        while above is not None:
            if type(above) is cst.FunctionDef and above in self._owners:
                return self._owners[above]
            above = self._tree.parent(above)
        return None

    def is_strange(self, qualified: str) -> bool:
        """Whether a qualified name belongs to some library, and not to this project."""
        own = qualified.startswith((LOCAL, "builtins.", "torch.", ".")) or "." not in qualified
        return not own and not self._imports.is_own(qualified)

    def instance_of(self, call: cst.BaseExpression, abroad: bool = True) -> ClassInfo | None:
        """The class that an expression constructs, if its source is at hand.

        A function of another file may make the object, too.

        Args:
            call: any expression.
            abroad: whether the class may stand in another file.
        """
        if type(call) is not cst.Call:
            return None
        meanings = self._names.resolve(call.func)
        name = next(iter(meanings)) if len(meanings) == 1 else UNKNOWN
        if name.startswith(f"{LOCAL}."):
            return self.by_name.get(name[len(LOCAL) + 1 :])
        node = self._imports.defined(call.func) if abroad else None
        if isinstance(node, cst.FunctionDef):
            made = literal_dispatch.returned_for(node, call, self._tree, self._names)
            return self.instance_of(made) if isinstance(made, cst.Call) else None
        return self.of(node) if isinstance(node, cst.ClassDef) else None


def _chosen(call: cst.Call) -> list[cst.BaseExpression]:
    """What a call may call: `(AMPTrainer if amp else SimpleTrainer)(model)`, `Trainer.from_argparse_args(args)`."""
    match call.func:
        case cst.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case cst.Attribute(value=cst.Name() | cst.Attribute() as maker, attr=cst.Name(value="from_argparse_args")):
            return [maker]
    return [call.func]
