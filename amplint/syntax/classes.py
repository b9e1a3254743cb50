"""Classes: their methods, what their attributes are assigned, and both through inheritance, also from other files."""

from __future__ import annotations

import libcst as cst

from amplint.syntax import literal_dispatch
from amplint.syntax.access_paths import computed_attribute
from amplint.syntax.bindings import unpacked
from amplint.syntax.class_info import ClassInfo as ClassInfo
from amplint.syntax.library_classes import LibraryClasses
from amplint.syntax.names import LOCAL, UNKNOWN, Names
from amplint.syntax.nodes import is_sequence
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree


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
        self.libraries = LibraryClasses(tree, names, self._imports, self.instance_of, supposing)
        self.own = list(self._take(tree).values())
        self.by_name: dict[str, ClassInfo] = {info.name: info for info in self.own}

    def _take(self, tree: Tree) -> dict[cst.ClassDef, ClassInfo]:
        """Read the classes of one file."""
        infos = {
            node: ClassInfo(node, self._names, self._named, tree.left_out(node), self._imports.is_idle)
            for node in tree.find(cst.ClassDef)
        }
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
            node = self.libraries.base(node)
        return self.of(node) if isinstance(node, cst.ClassDef) else None

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

        for call in tree.find(cst.Call):
            if isinstance(call.func, cst.Name) and call.func.value == "setattr" and len(call.args) == 3:
                self._computed(call)

    def _computed(self, call: cst.Call) -> None:
        """File what is assigned to an attribute of `self` by a name that is computed."""
        computed, info = computed_attribute(call), self.owner(call)
        if (
            computed is not None
            and info is not None
            and isinstance(computed[0], cst.Name)
            and computed[0].value == "self"
        ):
            info.add(computed[1], call.args[2].value)

    def _attribute(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if is_sequence(target):
            value = self.libraries.returned(value) or value if isinstance(value, cst.Call) else value
            for element, part in zip(target.elements, unpacked(target, value)):
                self._attribute(element.value, part or value)
        elif type(target) is cst.Attribute and type(target.value) is cst.Name:
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
            return self.by_name.get(name[len(LOCAL) + 1 :]) or self.libraries.handed_out(
                self._names.function(call.func)
            )
        node = self._imports.defined(call.func) if abroad else None
        if type(node) is cst.FunctionDef:
            made = literal_dispatch.returned_for(node, call, self._tree, self._names)
            return self.instance_of(made) if isinstance(made, cst.Call) else self.libraries.handed_out(node)
        return self.of(node) if type(node) is cst.ClassDef else None

    def named(self, node: cst.BaseExpression, abroad: bool = True) -> ClassInfo | None:
        """The class that an expression names, if its source is at hand.

        Args:
            node: any expression.
            abroad: whether the class may stand in another file.
        """
        found = [each.node for each in self._names.bindings(node.value, node)] if type(node) is cst.Name else []
        named = found[0] if len(found) == 1 else None
        if type(named) is not cst.ClassDef:
            named = self._imports.defined(node) if abroad else None
        return self.of(named) if type(named) is cst.ClassDef else None

    @property
    def undriven(self) -> list[ClassInfo]:
        """The classes of the file that a library would drive in another way if the file made what does so."""
        return self.libraries.undriven(self.own)
