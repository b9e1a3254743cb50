"""What gradients are read for: whether what comes out depends on the loss scale, and what it is used for.

A value computed from `.grad` is followed through expressions, names, and returns of functions of the file, to where it is
used. A test for finiteness, for zero or for None, a ratio of two gradients, and a value divided by the scale come out the same
while gradients are scaled; a coefficient that gradients are multiplied by is the business of whoever judges clips.
What is not understood counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst as cst

from amplint.model import vocabulary
from amplint.model.events import COMPARE, MEASURE
from amplint.model.records import NamedTuple
from amplint.roles.gradients import is_gradient
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.value_uses import How
from amplint.syntax.words import words
from amplint.uses.gradient_additions import has_gradient
from amplint.uses.value_tests import finds_trouble, is_zero_value

_CLIP = "clip"
_RANK = ("", MEASURE, COMPARE, _CLIP)

_MEASURES = frozenset(
    "norm vector_norm matrix_norm _foreach_norm get_total_norm mean std var sum abs max min amax amin median quantile pow "
    "square histc tolist item".split()
)
_PASSES = frozenset(
    "detach clone requires_grad_ float double half to cpu cuda view reshape flatten contiguous squeeze unsqueeze ravel stack cat "
    "hstack vstack concat sum max min abs sqrt list tuple sorted tensor as_tensor array asarray round zip enumerate reversed "
    "fsum numpy any all mean dict get values items int square pow".split()
)
_NOT_SHOWN = frozenset({"len", "isinstance", "hasattr", "all_reduce", "reduce"})
_CHANGES_GRADIENTS = re.compile(r"clip_grad|_foreach_mul_|_foreach_div_")


class _Use(NamedTuple):
    """Where a value has come to: the node that has it, and the one that measured it (None: it is the gradient itself)."""

    node: cst.CSTNode
    at: cst.CSTNode | None


class _Step(NamedTuple):
    """What follows from a use: where the value goes on to, or what it is good for (one of `_RANK`), and where."""

    onward: tuple[_Use, ...] = ()
    verdict: str = ""
    at: cst.CSTNode | None = None


_NOTHING = _Step()


Found = dict[cst.CSTNode, tuple[str, cst.Attribute]]


class Readings:
    """The readings of gradients in one file, and in the functions of other files that it leads to.

    Args:
        tree: the file.
        flow: where its values go.
        may_hold_scale: whether an expression may depend on the loss scale.
    """

    def __init__(self, tree: Tree, flow: ValueFlow, may_hold_scale: Callable[[cst.BaseExpression], bool]) -> None:
        self._tree, self._flow = tree, flow
        self._may_hold_scale = may_hold_scale
        self._found: dict[cst.Module, Found] = {}

    def around(self, node: cst.CSTNode) -> Found:
        """The nodes in the file of `node` that measure or show a gradient to an end ("measure", "compare"), each with the
        `.grad` that is read."""
        root = self._tree.root(node)
        if root not in self._found:
            found = self._found[root] = {}
            for grad in self._tree.find(cst.Attribute, around=root):
                if is_gradient(grad):
                    for at, verdict in self._verdicts(_Use(grad, None)).items():
                        if verdict in (MEASURE, COMPARE):
                            found[at] = (verdict, grad)
        return self._found[root]

    def purpose(self, call: cst.Call) -> str:
        """What the result of a call that measures gradients is used for; empty where the scale does not matter."""
        verdict = self._verdicts(_Use(call, call)).get(call, "")
        return "" if verdict == _CLIP else verdict

    # -- following a value -----------------------------------------------------------------------------------------

    def _verdicts(self, start: _Use) -> dict[cst.CSTNode, str]:
        """What a value is used for, by the node that measured it: of several uses that of the highest rank."""
        found: dict[cst.CSTNode, str] = {}
        waiting, seen = [start], {start.node}
        while waiting:
            use = waiting.pop()
            step = self._step(use)
            if step.at is not None:
                found[step.at] = max(found.get(step.at, ""), step.verdict, key=_RANK.index)
            for onward in step.onward:
                if onward.node not in seen:
                    seen.add(onward.node)
                    waiting.append(onward)
        return found

    def _step(self, use: _Use) -> _Step:
        """What follows from a use, one step outwards."""
        done = self._flow.use(use.node)
        match done.how, done.node:
            case How.PART, node:
                return self._on(node, use)
            case How.ATTRIBUTE, node:
                return self._on(node, use) if done.name in ("data", "T") else _NOTHING
            case How.METHOD, cst.Call() as call:
                return self._result(call, done.name, use)
            case How.ARGUMENT, cst.Call() as call:
                return self._given(call, done.name, use)
            case How.OPERAND, cst.BinaryOperation() as operation:
                return self._operand(operation, use)
            case How.COMPARED, cst.Comparison() as comparison:
                return self._compared(comparison, use)
            case How.SHOWN, cst.FormattedStringExpression(expression=shown):
                return self._end(use, MEASURE, shown)
            case How.ASSIGNED | How.ADDED, statement:
                step = self._assigned(targets(statement)[0], use)
                is_expression = isinstance(statement, cst.NamedExpr)
                return step._replace(onward=(*step.onward, _Use(statement, use.at))) if is_expression else step
            case How.RETURNED, statement:
                return self._returned(statement, use)
            case How.ELSEWHERE, cst.For(target=cst.Name() as target) | cst.CompFor(target=cst.Name() as target):
                return self._loads(target.value, target, use)  # each element of it
        return _NOTHING

    @staticmethod
    def _on(node: cst.CSTNode, use: _Use) -> _Step:
        return _Step((_Use(node, use.at),))

    @staticmethod
    def _end(use: _Use, verdict: str, at: cst.CSTNode) -> _Step:
        return _Step((), verdict, use.at or at)

    # -- expressions -----------------------------------------------------------------------------------------------

    def _result(self, call: cst.Call, name: str, use: _Use) -> _Step:
        """What follows from the call of a function on a value, or of a method of it."""
        in_place = name.endswith("_") and name != "_" and name not in _PASSES
        if vocabulary.FINITE.search(name) or in_place:
            return _NOTHING
        if use.at is None and name in _MEASURES:
            return _Step((_Use(call, call),))
        return self._on(call, use) if use.at is not None or name in _PASSES else _NOTHING

    def _given(self, call: cst.Call, name: str, use: _Use) -> _Step:
        if self._changes_gradients(call, name):
            return self._end(use, _CLIP, call)
        if isinstance(call.func, cst.Attribute) and name in vocabulary.KEEPS and isinstance(call.func.value, cst.Name):
            return self._loads(call.func.value.value, call, use)
        if vocabulary.SHOWS.match(name) and not vocabulary.FINITE.search(name):
            return _NOTHING if self._is_of_trouble(call) else self._end(use, MEASURE, call)
        if name in _MEASURES | _PASSES or vocabulary.FINITE.search(name):
            return self._result(call, name, use)
        if use.at is not None and called_name(call.func) == "getattr":
            return self._on(call, use)  # `getattr(numpy, statistic)(norms)`
        unknown = use.at is not None and path_of(call.func) and name not in _NOT_SHOWN
        return self._end(use, MEASURE, call) if unknown and not name.endswith("_") else _NOTHING

    def _is_of_trouble(self, node: cst.CSTNode) -> bool:
        """Whether a place is reached only where something has been found to be NaN or infinite, which no scale changes."""
        below = node
        for above in self._tree.ancestors(node):
            if isinstance(above, cst.If) and below is above.body and finds_trouble(above.test):
                return True
            below = above
        return False

    def _changes_gradients(self, call: cst.Call, name: str) -> bool:
        """Whether a call multiplies gradients by its argument, or clips them."""
        if _CHANGES_GRADIENTS.search(name):
            return True
        return name.endswith("_") and isinstance(call.func, cst.Attribute) and has_gradient(call.func)

    def _operand(self, parent: cst.BinaryOperation, use: _Use) -> _Step:
        if self._knows_the_scale(parent):
            return _NOTHING
        divides = isinstance(parent.operator, cst.Divide)
        is_ratio = divides and has_gradient(parent.left) and has_gradient(parent.right)
        return _NOTHING if is_ratio else self._on(parent, use)

    def _knows_the_scale(self, node: cst.BaseExpression) -> bool:
        """Whether the scale takes part in an expression, by itself or under a name."""
        found = set(words(node))
        known = "get_scale" in found or any("inv_scale" in each or self._is_scale(each, node) for each in found)
        return known or self._may_hold_scale(node)

    def _is_scale(self, name: str, at: cst.CSTNode) -> bool:
        values = (each.value for each in self._flow.assigned(name, at) if each.value is not None)
        return any("get_scale" in words(value) and "grad" not in set(words(value)) for value in values)

    def _compared(self, parent: cst.Comparison, use: _Use) -> _Step:
        target = parent.comparisons[0]
        others = [side for side in (parent.left, target.comparator) if use.node not in set(within(side))]
        if not others or isinstance(target.operator, (cst.Is, cst.IsNot, cst.In, cst.NotIn)):
            return _NOTHING
        other = others[0]
        is_zero = all(map(is_zero_value, self._flow.meant(other) or [other]))
        if is_zero or self._knows_the_scale(parent) or {"inf", "nan", "Infinity", "None"} & set(words(other)):
            return _NOTHING
        return self._end(use, COMPARE, parent)

    # -- names -----------------------------------------------------------------------------------------------------

    def _assigned(self, target: cst.CSTNode, use: _Use) -> _Step:
        if has_gradient(target):
            return self._end(use, _CLIP, target)
        if isinstance(target, cst.Name):
            return self._loads(target.value, target, use)
        kept = use.at is not None and isinstance(target, (cst.Attribute, cst.Subscript))
        return self._end(use, MEASURE, target) if kept else _NOTHING

    def _loads(self, name: str, at: cst.CSTNode, use: _Use) -> _Step:
        """The value goes on to wherever a name is read; a measure that nobody reads was taken to be looked at."""
        loads = [each for each in self._flow.reads(name, at) if not self._is_filled(each)]
        if not loads and use.at is not None:
            return self._end(use, MEASURE, use.at)
        return _Step(tuple(_Use(each, use.at) for each in loads))

    def _is_filled(self, container: cst.BaseExpression) -> bool:
        """Whether something is put into what a name holds, as in `norms.append(norm)`."""
        use = self._flow.use(container)
        return use.how is How.METHOD and use.name in vocabulary.KEEPS

    def _returned(self, statement: cst.CSTNode, use: _Use) -> _Step:
        """The value goes on to the calls of the function; one that nobody calls was written for somebody else."""
        function = self._tree.enclosing(statement, cst.FunctionDef)
        calls = self._flow.calls_of(function) if isinstance(function, cst.FunctionDef) else ()
        if not calls and use.at is not None and self._tree.root(statement) is self._tree.module:
            return self._end(use, MEASURE, use.at)
        return _Step(tuple(_Use(call, use.at) for call in calls))
