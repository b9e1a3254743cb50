"""Which numbers may hold a loss scale: read with `get_scale()`, kept, handed on, inverted."""

from __future__ import annotations

import re

import libcst as cst

from amplint.model import vocabulary
from amplint.model.literals import number
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.nodes import is_reference, within
from amplint.syntax.tree import Tree

_READS = re.compile(r"^_?get_(loss_)?scale(_async)?$")
_NAMED = re.compile(
    r"^(cur(rent)?_|old_|prev_|my_)?((loss|grad|gradient|amp|scaler)_?)?(inv_?)?(scale|scaling)(_(inv|factor|value|val))?$",
    re.IGNORECASE,
)
_SMALLEST_SCALE = 64
"""Smaller numbers are no loss scales."""
_MAX_STEPS = 5
"""From a name to its value and to the names in that, so many times."""


class LossScales:
    """Follows the loss scale through names, attributes, parameters and helpers in sight.

    Args:
        tree: the file.
        roles: says which objects are scalers.
    """

    def __init__(self, tree: Tree, roles: Roles) -> None:
        self._tree, self._roles = tree, roles
        self._known: dict[int, tuple[cst.CSTNode, bool]] = {}
        self._asking: dict[Tree, bool] = {}

    def in_play(self, at: cst.CSTNode) -> bool:
        """Whether the file, or that of `at`, asks for a scale at all: a cheap look before `may_hold`."""
        return any(map(self._asks, (self._tree, self._tree.home(at))))

    def _asks(self, tree: Tree) -> bool:
        if tree not in self._asking:
            self._asking[tree] = "get_scale" in tree.source.text
        return self._asking[tree]

    def may_hold(self, node: cst.BaseExpression) -> bool:
        """Whether an expression may depend on a loss scale, as far as what is in sight tells."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._holds(node, 0, set())
        return known[1]

    def _holds(self, node: cst.CSTNode, steps: int, seen: set[int]) -> bool:
        if steps > _MAX_STEPS or id(node) in seen:
            return False
        seen.add(id(node))
        return any(self._part_holds(each, steps, seen) for each in within(node))

    def _part_holds(self, node: cst.CSTNode, steps: int, seen: set[int]) -> bool:
        if type(node) is cst.Call:
            if _READS.match(called_name(node)) or any(self._roles.of(arg.value).role == "scaler" for arg in node.args):
                return True
            return any(self._holds(each, steps + 1, seen) for each in self._roles.flow.sources(node))
        if not is_reference(node) or self._is_spelling(node):
            return False
        return self._name_holds(node, steps, seen)

    def _name_holds(self, node: cst.Name | cst.Attribute | cst.Subscript, steps: int, seen: set[int]) -> bool:
        values = list(self._roles.flow.sources(node))
        if any(self._holds(value, steps + 1, seen) for value in values):
            return True
        named = _NAMED.match(path_of(node).rpartition(".")[2].partition("[")[0]) is not None
        # Of a number that is called so, and that nobody in sight has written down, it cannot be told.
        return named and not (values and all(map(self._is_written, values)))

    def _is_written(self, value: cst.BaseExpression) -> bool:
        """Whether a value is spelled out: a number, or computed of what is called otherwise (`1.0 / self.batches`)."""
        if isinstance(value, cst.BinaryOperation):
            return not any(isinstance(each, cst.Call) for each in within(value))
        return number(self._tree.text(value)) is not None or _is_part(value)

    def is_share(self, factor: cst.BaseExpression) -> bool:
        """Whether a factor averages or weighs gradients, by what it is called, or by what a function is given for it."""
        values = list(self._roles.flow.sources(factor)) if isinstance(factor, cst.Name) else []
        return _is_part(factor) or (bool(values) and all(map(_is_part, values)))

    def _is_spelling(self, node: cst.CSTNode) -> bool:
        """Whether a node is the name of an attribute, of a keyword, or of what is called."""
        parent = self._tree.parent(node)
        if type(parent) is cst.Attribute:
            return parent.attr is node
        if type(parent) is cst.Arg:
            return parent.keyword is node
        return isinstance(parent, cst.Call) and parent.func is node


def _is_part(factor: cst.BaseExpression) -> bool:
    """Whether a factor is a small number, is called what one shares by, or is such a quotient or product."""
    if isinstance(factor, cst.BinaryOperation):
        return isinstance(factor.operator, (cst.Multiply, cst.Divide)) and all(
            map(_is_part, (factor.left, factor.right))
        )
    if isinstance(factor, (cst.Integer, cst.Float)):
        return float(factor.evaluated_value) < _SMALLEST_SCALE
    named = path_of(factor.func if isinstance(factor, cst.Call) else factor).rpartition(".")[2]
    return vocabulary.SHARE.search(named) is not None
