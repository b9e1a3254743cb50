"""What the calls in a file say about the objects in it: who unscales is a scaler, what is unscaled an optimizer."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from amplint.model import vocabulary
from amplint.model.libraries import OTHER_FRAMEWORKS
from amplint.syntax.access_paths import called, path_of
from amplint.syntax.names import dotted
from amplint.syntax.tree import Tree

_OPTIMIZER_USES = frozenset({"step", "unscale_"})


class RoleUses:
    """What is told of objects by their uses, file by file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._uses: dict[cst.Module, dict[str, str]] = {}
        self._called: dict[cst.Module, frozenset[str]] = {}
        self._foreign: dict[cst.Module, bool] = {}

    def is_of_another_framework(self, node: cst.CSTNode) -> bool:
        """Whether the file of `node` trains without PyTorch, so that no use and no name in it tells of PyTorch's objects."""
        root = self._tree.root(node)
        if root not in self._foreign:
            statements = self._tree.find(cst.ImportFrom, around=root)
            imported = {dotted(each.module) for each in statements if each.module is not None and not each.relative}
            imported |= {dotted(each.name) for line in self._tree.find(cst.Import, around=root) for each in line.names}
            packages = {name.partition(".")[0] for name in imported}
            self._foreign[root] = not packages.isdisjoint(OTHER_FRAMEWORKS) and "torch" not in packages
        return self._foreign[root]

    def roles(self, node: cst.CSTNode) -> dict[str, str]:
        """The roles that uses in the file of `node` tell, by path."""
        root = self._tree.root(node)
        if root not in self._uses:
            self._uses[root] = _uses_in(self._tree.find(cst.Call, around=root))
        return self._uses[root]

    def bare_calls(self, node: cst.CSTNode) -> frozenset[str]:
        """What the file of `node` calls without giving it anything, by path."""
        root = self._tree.root(node)
        if root not in self._called:
            calls = self._tree.find(cst.Call, around=root)
            self._called[root] = frozenset(path_of(call.func) for call in calls if not call.args)
        return self._called[root]


def _uses_in(found: Iterable[cst.Call]) -> dict[str, str]:
    """What the calls of a file say about the objects in them: who unscales is a scaler, what is unscaled an optimizer."""
    calls = [(call, call.func) for call in found if type(call.func) is cst.Attribute]
    used_as: dict[str, str] = {}
    for _, func in calls:
        if func.attr.value == "unscale_":
            used_as[path_of(func.value)] = "scaler"
        elif func.attr.value == "second_step":  # of one that looks for a flat minimum
            used_as.setdefault(path_of(func.value), "optimizer")
        elif func.attr.value == "backward" and isinstance(func.value, cst.Call):
            inner = func.value.func
            if isinstance(inner, cst.Attribute) and inner.attr.value == "scale":
                used_as[path_of(inner.value)] = "scaler"
    for call, func in calls:
        path = path_of(func.value)
        if func.attr.value in _OPTIMIZER_USES and call.args:
            if used_as.get(path) == "scaler" or vocabulary.SCALER.search(called(path)):
                used_as.setdefault(path_of(call.args[0].value), "optimizer")
    used_as.pop("", None)
    return used_as
