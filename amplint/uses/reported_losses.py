"""Where losses are read out to be shown or kept: printed, logged, added up, collected.

Only values that have to do with a call of `scale` in the same function are of interest: what it returns, what it gets, and
what functions of the file return that call it. Whether such a value is scaled when it is read out is for the protocol to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.model.torch import vocabulary
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import Tree, within
from amplint.syntax.words import words

_FUNCTIONS = (cst.FunctionDef, cst.Lambda)
_INSIDE = (cst.Element, cst.List, cst.Tuple, cst.Dict, cst.DictElement, cst.UnaryOperation)
_READS_OUT = frozenset({"item", "tolist", "numpy", "detach", "float", "data"})
_PASSES = _READS_OUT | frozenset({"cpu", "mean", "sum", "clone", "squeeze", "round", "abs", "str", "to", "double"})
_COMPUTES = frozenset({"torch", "math", "np", "numpy", "F"})


class Reports:
    """The reports of one file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def found(self) -> dict[cst.CSTNode, list[cst.BaseExpression]]:
        """The nodes at which a loss is read out, with what may be the loss in it."""
        found: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
        for value in self._candidates():
            at = self._read_out(value)
            if at is not None:
                found.setdefault(at, []).append(value)
        return found

    # -- losses ----------------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[cst.BaseExpression]:
        scaling = [call for call in self._tree.find(cst.Call) if _is_scale(call)]
        yield from scaling
        concerned: set[tuple[cst.CSTNode | None, str]] = set()
        returning: set[str] = set()
        for call in scaling:
            home = self._home(call)
            named = [each for each in within(call.args[0].value) if path_of(each)]
            concerned.update((home, path_of(each)) for each in (*named, *self._targets(call)))
            if isinstance(home, cst.FunctionDef):
                returning.add(home.name.value)
        if not scaling:
            return
        for call in self._tree.find(cst.Call):
            if path_of(call.func).rpartition(".")[2] in returning:
                concerned.update((self._home(call), path_of(each)) for each in self._targets(call))
        for node in (*self._tree.find(cst.Name), *self._tree.find(cst.Attribute)):
            if (self._home(node), path_of(node)) in concerned and self._is_whole(node):
                yield node

    def _targets(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What the value of a call is assigned to."""
        assign = self._tree.parent(call)
        return [each.target for each in assign.targets] if isinstance(assign, cst.Assign) else []

    def _is_whole(self, node: cst.CSTNode) -> bool:
        """Whether a name is read, and not only the name of an attribute, a keyword or a target."""
        parent = self._tree.parent(node)
        if isinstance(parent, cst.Attribute):
            return parent.value is node
        if isinstance(parent, cst.Arg):
            return parent.value is node
        return not isinstance(parent, (cst.AssignTarget, cst.Param, cst.For, cst.NameItem))

    def _home(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._tree.enclosing(node, *_FUNCTIONS)

    # -- where they go ---------------------------------------------------------------------------------------------

    def _read_out(self, value: cst.BaseExpression) -> cst.CSTNode | None:
        """The node at which a value is read out; None where it goes elsewhere, into a backward pass for one."""
        node: cst.CSTNode = value
        at: cst.CSTNode = value
        while (parent := self._tree.parent(node)) is not None:
            if isinstance(parent, cst.Attribute):
                call, name = self._tree.parent(parent), parent.attr.value
                is_call = isinstance(call, cst.Call) and call.func is parent
                if call is None or name not in _PASSES or not (is_call or name == "data"):
                    return None
                node = call if is_call else parent
                at = node if name in _READS_OUT else at
            elif isinstance(parent, cst.Arg):
                call = self._tree.parent(parent)
                name = _called(call)
                if not isinstance(call, cst.Call) or vocabulary.FINITE.search(name):
                    return None
                if name not in _PASSES:
                    return at if self._reports(call, name, at is not value) else None
                node = call
                at = node if name in _READS_OUT else at
            elif isinstance(parent, (cst.BinaryOperation, *_INSIDE)):
                if "get_scale" in words(parent) or any("inv" in each for each in words(parent)):
                    return None
                node = parent
            elif isinstance(parent, cst.FormattedStringExpression):
                return at
            else:
                return at if at is not value and self._keeps(parent, node) else None
        return None

    @staticmethod
    def _reports(call: cst.Call, name: str, is_read_out: bool) -> bool:
        if path_of(call.func).partition(".")[0] in _COMPUTES:
            return False
        return vocabulary.SHOWS.match(name) is not None or (name in vocabulary.KEEPS and is_read_out)

    def _keeps(self, statement: cst.CSTNode, value: cst.CSTNode) -> bool:
        """Whether a statement adds a value up, or takes it out to keep it."""
        if isinstance(statement, cst.AugAssign):
            return statement.value is value and isinstance(statement.operator, cst.AddAssign)
        home = self._home(statement) or self._tree.module
        return isinstance(statement, cst.Assign) and "get_scale" not in words(home)


def _is_scale(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "scale" and len(call.args) == 1


def _called(call: cst.CSTNode | None) -> str:
    """The last name of what is called."""
    if not isinstance(call, cst.Call):
        return ""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else path_of(call.func)
