"""Of which kind a test is: whether it asks for AMP, for a skipped step, for a place in the run, or for an option."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.lowering.counters import CounterReader, SideKind, asks_for_end, counts_iterations
from amplint.lowering.function_scope import FunctionScope
from amplint.lowering.kept_settings import KeptSettings
from amplint.model import vocabulary
from amplint.syntax import option_reads
from amplint.syntax.access_paths import called_name, option_key, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.nodes import children
from amplint.syntax.words import words

_LASTING = frozenset(
    "isinstance issubclass hasattr callable signature is_main_process is_available is_initialized".split()
)
"""Functions that answer alike all through a run, whatever they are asked about."""


class ConditionKinds:
    """The kinds of the tests in one function (see `Test.kind`).

    Args:
        scope: the function.
        settings: the settings that its object keeps.

    Attributes:
        changing: the names that are assigned inside a loop, or handed over from one; whoever reads a loop narrows them to
            that loop.
    """

    def __init__(self, scope: FunctionScope, settings: KeptSettings) -> None:
        self._scope, self._settings = scope, settings
        self._definition = scope.definition
        self._counters = CounterReader(scope.definition, self._is_counted)
        self.changing = scope.changing() | scope.handed(counts_iterations)

    def of(self, node: cst.BaseExpression, *others: cst.BaseExpression) -> str:
        """The kind of a test, as far as the expressions in it tell.

        Args:
            node: what is asked for its truth, or one side of a comparison.
            *others: the other sides.
        """
        found = " ".join(words(node))
        if vocabulary.STEP_GATE.search(found):
            return "gate" if vocabulary.asks_for_step(found) else "config"
        if isinstance(node, cst.Call):
            func = node.func
            name = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")
            if name in ("is_enabled",) or vocabulary.AMP_FLAG.search(str(name)):
                return "mode"
            if name in _LASTING:
                return "config"
        names = [] if self._is_set((node, *others)) else [name for each in (node, *others) for name in _names(each)]
        for name in names:
            value = self._definition(name)
            if value is not None and vocabulary.STEP_GATE.search(" ".join(words(value))):
                return "gate"
        fixed = all(name.value not in self.changing and name.value != "self" for name in names)
        return "config" if fixed and not option_reads.asks_anything_else(node) else "varying"

    def _is_counted(self, node: cst.BaseExpression) -> bool:
        """Whether the function counts a name up by whole numbers, or the class an attribute of `self`; steps that were taken or
        skipped are counted by what asks for that."""
        tree, path = self._scope.program.tree, path_of(node)
        if path not in self._scope.program.counted or (
            type(node) is cst.Attribute and path != f"self.{node.attr.value}"
        ):
            return False
        home: type[cst.CSTNode] = cst.ClassDef if type(node) is cst.Attribute else cst.FunctionDef
        changes = [
            each for each in (*tree.find(cst.AugAssign), *tree.find(cst.Assign)) if path in map(path_of, targets(each))
        ]
        own = [each for each in changes if tree.enclosing(each, home) is tree.enclosing(node, home)]
        counts = any(type(each) is cst.AugAssign for each in own)
        return counts and not any(map(self._is_asked_for_trouble, own))

    def _is_asked_for_trouble(self, node: cst.CSTNode) -> bool:
        """Whether a condition around a statement asks for overflows, or for a step that was taken."""
        tests = (each.test for each in self._scope.program.tree.ancestors(node) if isinstance(each, cst.If))
        found = " ".join(word for test in tests for word in words(test))
        return vocabulary.STEP_GATE.search(found) is not None or vocabulary.TROUBLE.search(found) is not None

    def _is_set(self, nodes: Iterable[cst.CSTNode]) -> bool:
        """Whether nothing but settings that the object keeps, and classes of objects, goes into expressions."""
        return all(map(self._is_setting, nodes))

    def _is_setting(self, node: cst.CSTNode) -> bool:
        if type(node) is cst.Attribute:
            of_call = type(node.value) is cst.Call and self._is_setting(node.value)
            return of_call or option_reads.is_class_name(node) or self._settings.holds(node)
        if type(node) is cst.Call and (called_name(node) in _LASTING or option_reads.read_by(node) is not None):
            return called_name(node) in _LASTING or self._is_set(option_reads.read_by(node) or ())
        return type(node) is not cst.Name and self._is_set(children(node))

    def is_amp_option(self, node: cst.BaseExpression) -> bool:
        """Whether an expression asks an object that no loop changes for a flag that is set where AMP is on.

        Args:
            node: the expression.
        """
        asked = vocabulary.AMP_FLAG.search(option_key(node)) is not None
        return asked and all(name.value not in self.changing for name in _names(node))

    def of_self_comparison(self, node: cst.BaseExpression) -> str:
        """The kind of a test whether something is equal to itself, as all but NaN is.

        Args:
            node: what is asked for.
        """
        made = (self._definition(name) for name in _names(node))
        asked = (node, *(each for each in made if each is not None))
        text = " ".join(("isnan", *(word for each in asked for word in words(each))))
        return "gate" if vocabulary.asks_for_step(text) else "config"

    def judges_gradients(self, name: cst.Name) -> bool:
        """Whether a name holds what a function in sight gives back that looks for gradients which are not finite, or a constant
        that is set where some are.

        Args:
            name: the name.
        """
        if self._is_set_by_gradients(name):
            return True
        call, program = self._giving(name), self._scope.program
        callee = program.callees.of(call, self._scope.node) if call is not None else None
        if callee is None:
            return False
        found = " ".join(words(callee.node))
        compares = program.tree.inside(callee.node, cst.Comparison)
        of_itself = any(each.left.deep_equals(each.comparisons[0].comparator) for each in compares)
        return "grad" in found and (of_itself or vocabulary.asks_for_step(found))

    def _is_set_by_gradients(self, name: cst.Name) -> bool:
        """Whether a name gets nothing but constants, one of them where gradients are asked whether they are finite."""
        bindings, tree = self._scope.bound.get(name.value, ()), self._scope.program.tree
        if len(bindings) < 2 or any(path_of(each.value) not in ("True", "False") for each in bindings if each.value):
            return False
        conditions = (tree.enclosing(each.node, cst.If) for each in bindings if each.value and each.node)
        tests = (" ".join(words(each.test)) for each in conditions if isinstance(each, cst.If))
        return any("grad" in test and vocabulary.asks_for_step(test) for test in tests)

    def _giving(self, name: cst.Name) -> cst.Call | None:
        """The call of which a name is the only value, or a part of that: `norm, exploded = measured(model)`."""
        bindings = self._scope.bound.get(name.value, ())
        target = bindings[0].node if len(bindings) == 1 else None
        assign = self._scope.program.tree.enclosing(target, cst.Assign) if isinstance(target, cst.Name) else None
        return assign.value if isinstance(assign, cst.Assign) and isinstance(assign.value, cst.Call) else None

    def of_equality(self, kind: str, left: cst.BaseExpression, right: cst.BaseExpression) -> str:
        """The kind of a test whether two sides are equal, or one is in the other: one for a place in the run is no other.

        Args:
            kind: that which the sides tell.
            left: one side.
            right: the other side.
        """
        if kind == "varying" and (_is_extent(left) or _is_extent(right)):
            return "range"
        if kind != "varying" or not self._counters.is_moment(left, right, self.changing):
            return kind
        return "end" if asks_for_end(left, right) else "moment"

    def of_order(self, node: cst.Comparison) -> str:
        """The kind of a test for the lesser one.

        Args:
            node: the comparison.
        """
        kind = self.of(node)
        sides = (node.left, *(each.comparator for each in node.comparisons))
        is_range = self._counters.is_range(node, self.changing) or _reads_rate(node)
        is_range = is_range or any(option_reads.is_number_of_steppers(each) or _is_extent(each) for each in sides)
        return "range" if kind == "varying" and is_range else kind

    def asks_for_place(self, node: cst.BaseExpression) -> bool:
        """Whether a function in sight is asked about counters alone (`self.is_due(i)`), and does not look for skipped steps.

        Args:
            node: what is asked for its truth.
        """
        if not isinstance(node, cst.Call) or not node.args:
            return False
        asked = {self._counters.part(arg.value, self.changing) for arg in node.args}
        callee = self._scope.program.callees.of(node, self._scope.node) if max(asked) == SideKind.COUNTER else None
        return callee is not None and vocabulary.STEP_GATE.search(" ".join(words(callee.node))) is None


def _reads_rate(node: cst.CSTNode) -> bool:
    """Whether an expression reads a learning rate, which says how far a schedule is, and nothing of a step."""
    found = set(words(node))
    return not found.isdisjoint({"get_last_lr", "get_lr"}) or {"param_groups", "lr"} <= found


def _is_extent(node: cst.CSTNode) -> bool:
    """Whether an expression is the length of a tensor along one dimension: `x.shape[0]`, `x.size(0)`."""
    if type(node) is cst.Subscript:
        return type(node.value) is cst.Attribute and node.value.attr.value == "shape"
    return type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value == "size"


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if type(node) is cst.Name:
        yield node
    for child in children(node):
        yield from _names(child)
