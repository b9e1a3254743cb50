"""Comparisons of the loss scale from before a step with the one after it: the question whether the step was skipped.

The scale falls when a step was skipped. A comparison counts as that question if something other than a message hangs on it:
code is run or left out, or the answer is kept under a name that speaks of steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.nodes import is_statement, within
from amplint.syntax.value_uses import How
from amplint.syntax.words import words

_SAYS_STEP = re.compile(r"skip|step|overflow|appl(y|ied)|took|taken|success|updated", re.IGNORECASE)
_HOOK_BEFORE = re.compile(r"(before|pre)_.*(step|iter|batch|update)|(step|iter\w*|batch|update)_(start|begin)$")
_HOOK_AFTER = re.compile(r"(after|post)_.*(step|iter|batch|update)|(step|iter\w*|batch|update)_end$")
"""What methods are called that a training loop calls before a step, and after it."""


@frozen
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
        self._tree, self._names, self._flow, self._classes = file.tree, file.names, file.flow, file.classes

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
        read = (_reading(value) for value in self._flow.values(node))
        return [scaler for scaler in read if scaler is not None]

    def _is_given(self, name: cst.Name) -> bool:
        """Whether a name is a parameter that is called the scale from before."""
        called = "scale" in name.value and vocabulary.BEFORE.search(name.value) is not None
        bound = self._names.bindings(name.value, name)
        return called and bool(bound) and all(isinstance(each.node, cst.Param) for each in bound)

    def _steps_between(self, first: cst.CSTNode, second: cst.CSTNode, scaler: str) -> bool:
        """Whether a scaler is updated after one place and before another: in one function, or between two hooks."""
        if self._tree.function(first) is not self._tree.function(second):
            return self._are_hooks_around(first, second)
        begin, end = self._tree.order(first), self._tree.order(second)
        return any(
            begin < self._tree.order(call) < end and not call.args and self._tree.text(owner) == scaler
            for call, owner in self._flow.methods("update")
        )

    def _are_hooks_around(self, first: cst.CSTNode, second: cst.CSTNode) -> bool:
        """Whether the methods of two places, in one class, are called before a step and after it."""
        before, after = (self._tree.enclosing(each, cst.FunctionDef) for each in (first, second))
        if not isinstance(before, cst.FunctionDef) or not isinstance(after, cst.FunctionDef):
            return False
        owner = self._classes.owner(first)
        named = _HOOK_BEFORE.search(before.name.value) and _HOOK_AFTER.search(after.name.value)
        return owner is not None and owner is self._classes.owner(second) and named is not None

    # -- what hangs on it ------------------------------------------------------------------------------------------

    def _decides(self, comparison: cst.Comparison) -> bool:
        for use in self._flow.uses(comparison):
            match use.how, use.node:
                case How.TESTED, (cst.If() | cst.While()) as test:
                    has_else = isinstance(test, cst.If) and test.orelse is not None
                    return has_else or any(map(_does_more_than_tell, self._left_out(test) or [test.body]))
                case How.TESTED, _:
                    return True
                case ((How.ASSIGNED | How.ADDED), statement):
                    return any(_SAYS_STEP.search(path_of(each)) for each in targets(statement))
                case How.RETURNED, statement:
                    home = self._tree.enclosing(statement, cst.FunctionDef)
                    return isinstance(home, cst.FunctionDef) and _SAYS_STEP.search(home.name.value) is not None
                case How.ARGUMENT, _:
                    continue
                case How.PART, (cst.BooleanOperation() | cst.UnaryOperation()):
                    continue
            return False
        return False

    def _left_out(self, test: cst.If | cst.While) -> list[cst.CSTNode]:
        """What follows in the block of a test that only goes on with the next iteration; nothing for any other."""
        block = self._tree.parent(test)
        small = list(_small(test.body))
        if not isinstance(block, cst.IndentedBlock) or len(small) != 1 or not isinstance(small[0], cst.Continue):
            return []
        return [each for each in block.body if self._tree.order(each) > self._tree.order(test)]


def _reading(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The scaler of an expression `scaler.get_scale()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=scaler, attr=cst.Name(value="get_scale")), args=[]):
            return scaler
    return None


def _does_more_than_tell(body: cst.CSTNode) -> bool:
    """Whether a block, or a statement, does more than show something and note the scale."""
    return any(not _tells(statement) for statement in _small(body))


def _small(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    return filter(is_statement, within(body))


def _tells(statement: cst.CSTNode) -> bool:
    if isinstance(statement, cst.Assign):
        return "get_scale" in words(statement.value) or "scale" in path_of(statement.targets[0].target)
    value = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(value, cst.Call):
        return isinstance(statement, cst.Pass)
    return vocabulary.SHOWS.match(called_name(value)) is not None
