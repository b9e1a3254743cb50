"""What a repair computes in another way than the fix of the rule: losses, inner gradients, what is returned, what is reported.

Both texts are read as expressions and computed in exact arithmetic. A call that is not on the closed list gives a value from
outside, which is the same in both texts where it is written in the same words; a loss scale is a number. An inner gradient is a
value from outside that goes with what is differentiated for: what is differentiated is compared by itself, without its scale.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from amplint.dtypes.frames import StackFrame
from amplint.model.torch import precision
from amplint.rule import File
from amplint.runtime.changes import Change, changes
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.numeric.body_results import BACKWARD, RETURN, YIELD, BodyResult, matching
from amplint.runtime.numeric.calls import GivenValues
from amplint.runtime.numeric.choices import Path
from amplint.runtime.numeric.expression import Apply, Container, Expression, Literal, Operand, Outside, Thing, is_same
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.finding_place import same_body
from amplint.runtime.numeric.meaning import is_unlike
from amplint.runtime.numeric.reader import Reader
from amplint.runtime.numeric.same_operands import SameOperands
from amplint.runtime.numeric.sources import BodyScope
from amplint.runtime.training.run_record import NotReplayable

_SCALE = 4.0
"""What a loss scale is taken to be."""
_INNER = frozenset({"torch.autograd.grad"})
_GRAD_PARAMETERS = ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph")
"""What `torch.autograd.grad` takes by position."""
_ACTING = frozenset(
    "clip_grad_norm_ clip_grad_value_ step update unscale_ zero_grad save load_state_dict train eval init_process_group".split()
)
"""Calls whose arguments are no values that are shown."""
_DIFFERENTIATED, _INPUTS = "differentiated", "inputs"
_WORDS = {
    BACKWARD: "the loss that is run backward",
    RETURN: "what is returned",
    YIELD: "what is yielded",
    _DIFFERENTIATED: "what an inner gradient is taken of",
    _INPUTS: "what an inner gradient is taken for",
}
_UNGRADED = frozenset({_INPUTS})
"""What is compared by its values alone."""


def other_values(own: File, after: File, seed: int) -> Iterator[Observation]:
    """The values that a repair does not compute as the fix of the rule does.

    Args:
        own: the file with the fix of the rule.
        after: the file with the repair.
        seed: of the operands.
    """
    found = [each for each in changes(own.source.text, after.source.text) if not isinstance(each.after, ast.Import)]
    facts, fixed = DtypeTrace(own), DtypeTrace(after)
    done: set[int] = set()
    for change in found:
        frame = _frame_of(change, facts)
        if frame is None or id(frame.scope) in done:
            continue
        done.add(id(frame.scope))
        try:
            yield from _in_body(_Texts(facts, fixed, frame, same_body(facts, fixed, frame)), change, seed)
        except NotReplayable:
            continue


@dataclass(frozen=True)
class _Texts:
    """A body in both texts."""

    facts: DtypeTrace
    fixed: DtypeTrace
    frame: StackFrame
    other: StackFrame

    def read(self, change: Change, scale: float) -> tuple[list[BodyResult], list[BodyResult]]:
        """What the body comes to in each, along the path to a change."""
        path = Path(_node_of(change, self.facts))
        mine = _OpaqueReader(self.facts, path, scale)
        mine.read_body(self.frame)
        theirs = _OpaqueReader(self.fixed, Path(None, path.taken), scale)
        theirs.read_body(self.other)
        return mine.results, theirs.results


def _in_body(texts: _Texts, change: Change, seed: int) -> Iterator[Observation]:
    results, others = texts.read(change, _SCALE)
    plain = texts.read(change, 1.0)
    shown = _shown_in(texts.frame.scope, texts.facts.file)
    for number, result in enumerate(results):
        there = matching(others, result)
        if there is None or result.kind not in (*_WORDS, *shown):
            continue
        pair = result.value, there.value
        if result.kind in (BACKWARD, _DIFFERENTIATED) and result.is_scaled != there.is_scaled:
            match = matching(plain[1], result)
            pair = plain[0][number].value, match.value if match is not None else plain[0][number].value
        if not is_same(*pair) and _differ(*pair, result.kind in _WORDS.keys() - _UNGRADED, seed):
            yield Observation(Question.MEANT, _WORDS.get(result.kind, f"what `{result.kind}` is given"), True, False)


def _differ(mine: Expression, theirs: Expression, with_gradients: bool, seed: int) -> bool:
    """Whether two expressions certainly have other values, or other gradients where these count."""
    if any(isinstance(each, (Outside, Thing)) for each in (mine, theirs)):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shapes are guessed
        try:
            both = SameOperands.of(mine, theirs, seed)
        except NotReplayable:
            return False
        return is_unlike(both.compared(with_gradients), both.sweep.ordinary())


def _shown_in(scope: cst.CSTNode, file: File) -> set[str]:
    """What a body shows or gathers: what it calls for no value, and what it adds to."""
    first, last = file.range(scope).start.row, file.range(scope).end.row
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.source.text)):
        if isinstance(node, ast.AugAssign) and first <= node.lineno <= last:
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and first <= node.lineno <= last:
            name = ast.unparse(node.value.func)
            found |= set() if name.rpartition(".")[2] in _ACTING else {name}
    return found


def _frame_of(change: Change, facts: DtypeTrace) -> StackFrame | None:
    """The innermost body that a change lies in."""
    if change.before is None:
        return None
    row = change.before.lineno
    spans = [(facts.file.range(each.scope), each) for each in facts.frames if not isinstance(each.scope, cst.Lambda)]
    around = [(span.end.row - span.start.row, each) for span, each in spans if span.start.row <= row <= span.end.row]
    return min(around, key=lambda pair: pair[0])[1] if around else None


def _node_of(change: Change, facts: DtypeTrace) -> cst.CSTNode | None:
    row = change.before.lineno if change.before is not None else 0
    lines = facts.file.tree.find(cst.SimpleStatementLine)
    return next((each for each in lines if facts.file.range(each).start.row == row), None)


def _items(value: Expression | None) -> tuple[Expression, ...]:
    """Several values, or the only one."""
    if isinstance(value, Container):
        return value.items
    return () if value is None else (value,)


class _OpaqueReader(Reader):
    """Reads what is not on the closed list as values from outside, and a loss scale as a number."""

    def __init__(self, facts: DtypeTrace, path: Path, scale: float) -> None:
        super().__init__(facts, path)
        self._scale = Literal(scale)

    def read(self, node: cst.BaseExpression, scope: BodyScope) -> Expression:
        if isinstance(node, cst.FormattedString):
            shown = [each for each in node.parts if isinstance(each, cst.FormattedStringExpression)]
            return Container(tuple(self.read(each.expression, scope) for each in shown), is_list=True)
        return super().read(node, scope)

    def statement_of(self, node: cst.BaseExpression, scope: BodyScope) -> None:
        if isinstance(node, cst.Call):
            for arg in node.args:
                self.file(self.words(node.func), self.read(arg.value, scope), scope)
        self.read(node, scope)

    def call(self, node: cst.Call, scope: BodyScope) -> Expression:
        if self.facts.names.all_in(node.func, _INNER) and not any(arg.star for arg in node.args):
            return self._inner_gradient(node, scope) or super().call(node, scope)
        return super().call(node, scope)

    def _inner_gradient(self, node: cst.Call, scope: BodyScope) -> Expression | None:
        """Gradients that are computed, one for each input; None where it is not plain of what."""
        given: dict[str, Expression] = {}
        for name, arg in zip(_GRAD_PARAMETERS, (arg for arg in node.args if arg.keyword is None)):
            given[name] = self.read(arg.value, scope)
        given |= {arg.keyword.value: self.read(arg.value, scope) for arg in node.args if arg.keyword is not None}
        outputs, inputs = (_items(given.get(each)) for each in ("outputs", "inputs"))
        if (
            len(outputs) != 1
            or not inputs
            or not all(isinstance(each, (Operand, Apply)) for each in (*outputs, *inputs))
        ):
            return None
        weights = _items(given.get("grad_outputs"))
        value, is_scaled = outputs[0], id(outputs[0]) in self.scaled
        if weights and not (isinstance(weights[0], Literal) and weights[0].value is None):
            value = self.operator("mul", (value, weights[0]), node, scope)
            is_scaled = is_scaled or id(weights[0]) in self.scaled
        value = self.apply("Tensor.sum", (value,), (), node, scope)  # which has the same gradients
        if is_scaled:
            self.scaled[id(value)] = value
        self.file(_DIFFERENTIATED, value, scope)
        keeps = given.get("create_graph", Literal(False))
        return Container(tuple(self._gradient(each, is_scaled, keeps, node, scope) for each in inputs))

    def _gradient(
        self, wanted: Expression, is_scaled: bool, keeps: Expression, node: cst.Call, scope: BodyScope
    ) -> Expression:
        """The gradient for an input, times the loss scale if what is differentiated is scaled; without a graph no gradient."""
        self.file(_INPUTS, wanted, scope)
        found: Expression = Operand("an inner gradient", precision.FLOAT32, -math.inf, math.inf)
        if isinstance(keeps, Literal) and not keeps.value:
            found = self.apply("Tensor.detach", (found,), (), node, scope)
        return self.operator("mul", (found, self._scale), node, scope) if is_scaled else found

    def function(self, node: cst.Call, op: str, given: GivenValues, scope: BodyScope) -> Expression:
        if op == "builtins.float" and len(given.arguments) == 1:
            return given.arguments[0]
        return super().function(node, op, given, scope)

    def method(self, node: cst.Call, func: cst.Attribute, given: GivenValues, scope: BodyScope) -> Expression:
        name = func.attr.value
        if name == "get_scale" and not given.all:
            return self._scale
        found = super().method(node, func, given, scope)
        if name == "scale" and id(found) in self.scaled and found in given.arguments:
            found = self.operator("mul", (found, self._scale), node, scope)
            self.scaled[id(found)] = found
        return found

    def unlisted(self, node: cst.Call, arguments: Sequence[Expression], scope: BodyScope, what: str = "") -> Expression:
        return self.from_outside(node, scope)
