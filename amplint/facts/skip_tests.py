"""Comparisons of the loss scale from before a step with the one after it: the question whether the step was skipped.

The scale falls when a step was skipped. A comparison counts as that question if something other than a message hangs on it:
code is run or left out, or the answer is kept under a name that speaks of steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import within
from amplint.syntax.words import words
from amplint.uses.gradient_uses import SHOWS

_FUNCTIONS = (cst.FunctionDef, cst.Lambda)
_SAYS_STEP = re.compile(r"skip|step|overflow|appl(y|ied)|took|taken|success|updated", re.IGNORECASE)
_SAYS_BEFORE = re.compile(r"prev|old|before|last|orig", re.IGNORECASE)
_INSIDE = (cst.BooleanOperation, cst.UnaryOperation, cst.Arg, cst.Call)


@dataclass(frozen=True)
class SkipTest:
    """A comparison that asks whether a step was skipped, and the side on which the scale from before it stands."""

    comparison: cst.Comparison
    before_first: bool

    @property
    def operator(self) -> cst.BaseCompOp:
        """How the two are compared."""
        return self.comparison.comparisons[0].operator


class SkipTests:
    """The skip tests of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    @cached_property
    def found(self) -> tuple[SkipTest, ...]:
        """All of them, in source order."""
        return tuple(test for each in self._tree.find(cst.Comparison) if (test := self._read(each)) is not None)

    def _read(self, comparison: cst.Comparison) -> SkipTest | None:
        if len(comparison.comparisons) != 1 or not self._decides(comparison):
            return None
        left, right = comparison.left, comparison.comparisons[0].comparator
        for before, after in ((left, right), (right, left)):
            if self._is_earlier(before, after):
                return SkipTest(comparison, before is left)
        return None

    # -- scales ----------------------------------------------------------------------------------------------------

    def _is_earlier(self, before: cst.BaseExpression, after: cst.BaseExpression) -> bool:
        """Whether one side is the scale of a scaler from before a step, and the other its scale after it."""
        if not isinstance(before, (cst.Name, cst.Attribute)):
            return False
        now, later = _reading(after), self._readings(after)
        if now is None and not later:
            return False
        scaler = self._tree.text(now) if now is not None else ""
        for noted in self._readings(before):
            for read in [now] if now is not None else later:
                same = self._tree.text(noted) == self._tree.text(read)
                if same and self._steps_between(noted, read, self._tree.text(noted)):
                    return True
        return bool(scaler) and isinstance(before, cst.Name) and self._is_given(before)

    def _readings(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The scalers whose scale is assigned to a name or an attribute."""
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return []
        read = (_reading(value) for value in self._roles.values(node))
        return [scaler for scaler in read if scaler is not None]

    def _is_given(self, name: cst.Name) -> bool:
        """Whether a name is a parameter that is called the scale from before."""
        called = "scale" in name.value and _SAYS_BEFORE.search(name.value) is not None
        bound = self._names.bindings(name.value, name)
        return called and bool(bound) and all(isinstance(each.node, cst.Param) for each in bound)

    def _steps_between(self, first: cst.CSTNode, second: cst.CSTNode, scaler: str) -> bool:
        """Whether a scaler is updated after one place and before another, in one function."""
        home = self._tree.enclosing(first, *_FUNCTIONS)
        if self._tree.enclosing(second, *_FUNCTIONS) is not home:
            return False
        begin, end = self._tree.order(first), self._tree.order(second)
        updates = (call for call in self._tree.find(cst.Call) if begin < self._tree.order(call) < end)
        return any(
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "update"
            and not call.args
            and self._tree.text(call.func.value) == scaler
            for call in updates
        )

    # -- what hangs on it ------------------------------------------------------------------------------------------

    def _decides(self, comparison: cst.Comparison) -> bool:
        node: cst.CSTNode = comparison
        for above in self._tree.ancestors(comparison):
            if isinstance(above, (cst.If, cst.While)) and above.test is node:
                return _does_more_than_tell(above.body) or (isinstance(above, cst.If) and above.orelse is not None)
            if isinstance(above, cst.IfExp):
                return above.test is node
            if isinstance(above, cst.Assign):
                return any(_SAYS_STEP.search(path_of(each.target)) for each in above.targets)
            if isinstance(above, (cst.AugAssign, cst.NamedExpr)):
                return _SAYS_STEP.search(path_of(above.target)) is not None
            if isinstance(above, cst.Return):
                home = self._tree.enclosing(above, cst.FunctionDef)
                return isinstance(home, cst.FunctionDef) and _SAYS_STEP.search(home.name.value) is not None
            if not isinstance(above, _INSIDE):
                return False
            node = above
        return False


def _reading(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The scaler of an expression `scaler.get_scale()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=scaler, attr=cst.Name(value="get_scale")), args=[]):
            return scaler
    return None


def _does_more_than_tell(body: cst.CSTNode) -> bool:
    """Whether a block does more than show something and note the scale."""
    return any(not _tells(statement) for statement in _small(body))


def _small(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for node in within(body):
        if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            yield node


def _tells(statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.Assign):
        return "get_scale" in words(statement.value) or "scale" in path_of(statement.targets[0].target)
    value = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(value, cst.Call):
        return isinstance(statement, cst.Pass)
    func = value.func
    return SHOWS.match(func.attr.value if isinstance(func, cst.Attribute) else path_of(func)) is not None
