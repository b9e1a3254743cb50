"""What tests around a backward pass let through: a loss that is a number, one that is NaN, one that is infinite.

The tests are evaluated, as far as they ask for nothing but the loss; no code runs.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amplint.runtime.changes import function_at

_QUESTIONS: Mapping[str, Callable[[float], bool]] = {
    "isfinite": math.isfinite,
    "isnan": math.isnan,
    "isinf": math.isinf,
}
_SAME = frozenset({"item", "detach", "float", "all", "any", "mean", "sum", "abs", "cpu", "bool"})
"""Methods that leave a loss what it is, as far as these questions go."""
_COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_LEAVING = (ast.Raise, ast.Continue, ast.Break, ast.Return)


class _Untold(Exception):
    """A test asks for something else."""


@dataclass(frozen=True)
class GuardedPass:
    """A backward pass: the loss, and the statements of one iteration around it."""

    loss: str
    body: Sequence[ast.stmt]

    def steps_on(self, value: float) -> bool | None:
        """Whether a step is taken on a loss of this value; None where that cannot be told.

        Args:
            value: a number, infinity or NaN.
        """
        try:
            done = _Iteration(self.loss, value).run(self.body)
        except _Untold:
            return None
        return "backward" in done and "step" in done[done.index("backward") :]


def guarded_pass(text: str, function: str, number: int) -> GuardedPass | None:
    """A backward pass of a function, and what is around it; None where there is none.

    Args:
        text: the file.
        function: the name of the function, as `amplint.runtime.changes.function_at` has it.
        number: the number of the backward pass in that function.
    """
    tree = ast.parse(text)
    passes = [each for each in _passes(tree) if function_at(text, each.lineno) == function]
    if number >= len(passes):
        return None
    called = passes[number].func
    receiver = called.value if isinstance(called, ast.Attribute) else None
    while isinstance(receiver, ast.Call) and receiver.args:
        receiver = receiver.args[0]
    names = [each for each in ast.walk(receiver) if isinstance(each, (ast.Name, ast.Attribute))] if receiver else []
    around = [each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.For, ast.While))]
    inside = [each for each in around if any(part is passes[number] for part in ast.walk(each))]
    if not (names and inside):
        return None
    return GuardedPass(ast.unparse(names[0]), inside[-1].body)


def number_of_pass(text: str, row: int) -> int:
    """The number of the backward pass in a row among those of its function.

    Args:
        text: the file.
        row: counted from 1.
    """
    home = function_at(text, row)
    return sum(each.lineno < row and function_at(text, each.lineno) == home for each in _passes(ast.parse(text)))


def _passes(tree: ast.Module) -> list[ast.Call]:
    found = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "backward"
    ]
    return sorted(found, key=lambda each: each.lineno)


@dataclass(frozen=True)
class _Iteration:
    """One iteration, with a loss of some value."""

    loss: str
    value: float

    def run(self, body: Sequence[ast.stmt]) -> list[str]:
        """What happens, in order: "backward", "step", "left"."""
        done: list[str] = []
        for statement in body:
            done += self._statement(statement)
            if "left" in done:
                break
        return done

    def _statement(self, statement: ast.stmt) -> list[str]:
        if isinstance(statement, _LEAVING):
            return ["left"]
        if isinstance(statement, ast.If):
            return self.run(statement.body if self._holds(statement) else statement.orelse)
        if isinstance(statement, (ast.With, ast.For, ast.While, ast.Try)):
            return self.run(statement.body)
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            return []
        functions = [each.func for each in ast.walk(statement) if isinstance(each, ast.Call)]
        called = [each for each in functions if isinstance(each, ast.Attribute)]
        backward = any(each.attr == "backward" and self._is_of(each.value) for each in called)
        return ["backward"] * backward + ["step"] * any(each.attr == "step" for each in called)

    def _is_of(self, node: ast.expr) -> bool:
        return any(isinstance(each, ast.expr) and ast.unparse(each) == self.loss for each in ast.walk(node))

    def _holds(self, statement: ast.If) -> bool:
        """Whether a condition holds; one about something else, if it leads to more than a way out."""
        try:
            return bool(self._asked(statement.test))
        except _Untold:
            if any(isinstance(each, _LEAVING) for each in ast.walk(statement)):
                raise
            return True

    def _asked(self, node: ast.expr) -> float:
        """What an expression of the loss comes to; other names in arithmetic with it stand for 1."""
        if ast.unparse(node) == self.loss:
            return self.value
        match node:
            case ast.Constant(value=int() | float()):
                return float(node.value)  # type: ignore[arg-type]
            case ast.UnaryOp(op=ast.Not() | ast.Invert()):
                return float(not self._asked(node.operand))
            case ast.BoolOp(op=ast.And()):
                return float(all(self._asked(each) for each in node.values))
            case ast.BoolOp():
                return float(any(self._asked(each) for each in node.values))
            case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARED:
                return float(_COMPARED[type(op)](self._asked(node.left), self._asked(right)))
            case ast.BinOp(op=ast.Div() | ast.Mult()):
                return self._asked(node.left)
            case ast.Call():
                return self._called(node)
        raise _Untold

    def _called(self, node: ast.Call) -> float:
        name = ast.unparse(node.func).rpartition(".")[2]
        inner = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
        if inner is not None and name in _QUESTIONS:
            return float(_QUESTIONS[name](self._asked(inner)))
        if inner is not None and name in _SAME:
            return self._asked(inner)
        raise _Untold
