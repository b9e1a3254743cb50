"""Classes of one file: their methods, what their attributes are assigned, and both through inheritance."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.lowering.names import LOCAL, Names
from amplint.lowering.tree import Tree

_PLAIN_BASES = frozenset({"builtins.object", "torch.nn.Module", "torch.autograd.Function", "abc.ABC", "typing.Generic"})


class ClassInfo:
    """One class. `attributes` are the values that any method assigns to `self.<name>`, or the class body to `<name>`."""

    def __init__(self, node: cst.ClassDef, tree: Tree, names: Names) -> None:
        self.node = node
        self.name = node.name.value
        self.bases: list[ClassInfo] = []
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
        """File a value that is assigned to the attribute."""
        self.attributes.setdefault(name, []).append(value)

    @property
    def lineage(self) -> list[ClassInfo]:
        """The class, then its bases in this file, nearest first."""
        found: list[ClassInfo] = []
        waiting = [self]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found.append(current)
                waiting.extend(current.bases)
        return found

    def method(self, name: str) -> cst.FunctionDef | None:
        """The method that `self.<name>()` calls, if this file defines it."""
        return next((info.methods[name] for info in self.lineage if name in info.methods), None)

    def values(self, attribute: str) -> list[cst.BaseExpression]:
        """Everything that is assigned to the attribute, in this class and its bases in this file."""
        return [value for info in self.lineage for value in info.attributes.get(attribute, ())]

    @property
    def closed(self) -> bool:
        """Whether every base is in this file or holds nothing of AMP: no method comes from elsewhere."""
        return all(
            info.base_names <= _PLAIN_BASES | {f"{LOCAL}.{base.name}" for base in info.bases} for info in self.lineage
        )


class Classes:
    """All classes of a file."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self._tree = tree
        self._names = names
        self.by_node = {node: ClassInfo(node, tree, names) for node in tree.find(cst.ClassDef)}
        by_name: dict[str, ClassInfo] = {info.name: info for info in self.by_node.values()}
        self.by_name = by_name
        for info in self.by_node.values():
            wanted = (name[len(LOCAL) + 1 :] for name in sorted(info.base_names) if name.startswith(f"{LOCAL}."))
            info.bases = [by_name[name] for name in wanted if name in by_name and by_name[name] is not info]
        self._collect_attributes()

    @cached_property
    def _owners(self) -> dict[cst.CSTNode, ClassInfo]:
        return {method: info for info in self.by_node.values() for method in info.methods.values()}

    def _collect_attributes(self) -> None:
        for assign in self._tree.find(cst.Assign):
            for target in assign.targets:
                self._attribute(target.target, assign.value)
        for annotated in self._tree.find(cst.AnnAssign):
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
        for above in (node, *self._tree.ancestors(node)):
            if above in self._owners:
                return self._owners[above]
        return None

    def instance_of(self, call: cst.BaseExpression) -> ClassInfo | None:
        """The class of this file that an expression constructs."""
        if not isinstance(call, cst.Call):
            return None
        meanings = self._names.resolve(call.func)
        if len(meanings) != 1:
            return None
        (meaning,) = meanings
        return self.by_name.get(meaning[len(LOCAL) + 1 :]) if meaning.startswith(f"{LOCAL}.") else None
