"""What is done with the value of an expression, one step at a time."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import libcst as cst

from amplint.model.records import frozen
from amplint.syntax.access_paths import called_name
from amplint.syntax.tree import Tree

_PARTS = (
    cst.Element, cst.StarredElement, cst.List, cst.Tuple, cst.Set, cst.Dict, cst.DictElement, cst.ListComp, cst.SetComp,
    cst.GeneratorExp, cst.DictComp, cst.BooleanOperation, cst.UnaryOperation, cst.Subscript,
)  # fmt: skip


class How(enum.Enum):
    """What is done with a value, and which node the `Use` then names."""

    PART = "becomes a part of the node, or one of several that it may be"
    ATTRIBUTE = "an attribute of it is read: the node"
    METHOD = "a method of it is called, by the node"
    ARGUMENT = "it is given to the call"
    OPERAND = "the node computes with it"
    COMPARED = "the comparison compares it"
    SHOWN = "it is formatted into a string"
    ASSIGNED = "the statement, or the `:=`, assigns it"
    ADDED = "the statement changes a variable by it"
    RETURNED = "the statement returns it"
    TESTED = "the node goes one way or the other by it"
    ELSEWHERE = "something else"


@frozen
class Use:
    """What is done with a value, by which node; `name` is the attribute, the method, or the function that gets it as `arg`."""

    how: How
    node: cst.CSTNode
    name: str = ""
    arg: cst.Arg | None = None


class ValueUses:
    """What is done with the values of one file.

    Args:
        tree: the file.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def use(self, node: cst.CSTNode) -> Use:
        """What is done with the value of an expression, one step outwards."""
        parent = self._tree.parent(node)
        above = self._tree.parent(parent) if parent is not None else None
        match parent:
            case cst.Attribute(attr=cst.Name(value=name)):
                is_called = isinstance(above, cst.Call) and above.func is parent
                return Use(How.METHOD, above, name) if above and is_called else Use(How.ATTRIBUTE, parent, name)
            case cst.Arg() if type(above) is cst.Call:
                return Use(How.ARGUMENT, above, called_name(above), parent)
            case cst.IfExp() if parent.test is not node:
                return Use(How.PART, parent)
            case cst.If() | cst.While() | cst.IfExp() if parent.test is node:
                return Use(How.TESTED, parent)
            case cst.BinaryOperation():
                return Use(How.OPERAND, parent)
            case cst.Comparison():
                return Use(How.COMPARED, parent)
            case cst.ComparisonTarget() if above is not None:
                return Use(How.COMPARED, above)
            case cst.FormattedStringExpression():
                return Use(How.SHOWN, parent)
            case cst.Assign() | cst.AnnAssign() | cst.NamedExpr() if parent.value is node:
                return Use(How.ASSIGNED, parent)
            case cst.AugAssign() if parent.value is node:
                return Use(How.ADDED, parent)
            case cst.Return():
                return Use(How.RETURNED, parent)
        return Use(How.PART if isinstance(parent, _PARTS) else How.ELSEWHERE, parent or node)

    def uses(self, node: cst.CSTNode) -> Iterator[Use]:
        """What is done with a value, with what comes of that, and so on outwards, up to the statement."""
        use = self.use(node)
        while use.how is not How.ELSEWHERE:
            yield use
            if use.how in (How.RETURNED, How.ADDED) or isinstance(
                use.node, (cst.Assign, cst.AnnAssign, cst.If, cst.While)
            ):
                return
            use = self.use(use.node)
