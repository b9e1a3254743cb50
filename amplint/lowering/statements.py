"""Simple statements and blocks of them, as pieces of an event graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from amplint.lowering.conditions import asks_for_trouble
from amplint.lowering.expressions import ExpressionReader
from amplint.lowering.function_scope import Flow
from amplint.lowering.gradients import is_grad
from amplint.lowering.mode_branches import as_mode_branch
from amplint.model.event_graph import Jump, Scoped, Seq
from amplint.model.events import Assign, GradAccess, Leave, Region, ZeroGrad
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import children
from amplint.syntax.words import words

if TYPE_CHECKING:
    pass

_TIMES = (cst.MultiplyAssign, cst.DivideAssign)
_LEAVING = frozenset({"exit", "sys.exit", "os._exit", "quit"})
_ALL_ERRORS = frozenset({"Exception", "BaseException"})


class StatementReader(ExpressionReader):
    """Lowers blocks of statements; those that hold blocks themselves are left to `FunctionReader`."""

    def flow(self, node: cst.CSTNode) -> Flow:
        """As for other expressions; a conditional expression is a branch like any other."""
        if not isinstance(node, cst.IfExp):
            return super().flow(node)
        target = self.temporary(node)

        def take(side: cst.BaseExpression) -> None:
            flow = self.flow(side)
            self.emit(Assign(self.site(side), target, flow.carried, flow.args, flow.computes))

        self._either(node, take)
        return Flow((target,))

    # -- statements ------------------------------------------------------------------------------------------------

    def _body(self, block: cst.CSTNode | Sequence[cst.CSTNode]) -> Seq:
        outer, self._events = self._events, []
        statements = block if isinstance(block, (list, tuple)) else block.body  # type: ignore[union-attr]
        for index, statement in enumerate(statements):
            last = index + 1 == len(statements)
            if isinstance(statement, cst.If) and not last and self._is_leaving_branch(statement):
                self._early_exit(statement, statements[index + 1 :])
                break
            entered = self._entered(statement)
            if entered is not None:
                self._events.append(Scoped(self.site(statement), entered, self._body(statements[index + 1 :])))
                break
            self._statement(statement)
        body, self._events = Seq(tuple(self._events)), outer
        return body

    def _is_leaving_branch(self, node: cst.If) -> bool:
        """`if not amp: ...plain path...; return` and the AMP path after it: an if/else in other clothes."""
        last = last_small(node.body)
        return node.orelse is None and isinstance(last, (cst.Return, cst.Continue)) and "backward" in words(node.body)

    def _entered(self, statement: cst.CSTNode) -> Region | None:
        """The region that `stack.enter_context(...)` enters for the rest of the block."""
        small = (
            statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
        )
        value = small.value if isinstance(small, (cst.Expr, cst.Assign)) else None
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and len(value.args) == 1:
            if value.func.attr.value in ("enter_context", "enter_async_context"):
                return self.program.contexts.of(value.args[0].value)
        return None

    def _early_exit(self, node: cst.If, rest: Sequence[cst.CSTNode]) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        self._events.append(as_mode_branch(condition, self._body(node.body), self._body(rest)))

    def _statement(self, node: cst.CSTNode) -> None:
        reader = getattr(self, f"_read_{type(node).__name__}", None)
        if reader is not None:
            reader(node)
        elif not isinstance(
            node, (cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal)
        ):
            self._union(list(children(node)))

    def _read_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        for small in node.body:
            self._statement(small)

    _read_SimpleStatementSuite = _read_SimpleStatementLine

    def _read_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if is_grad(target.target):
                self._assign_grad(target.target, node)
                return
        if isinstance(node.value, cst.IfExp):
            self._either(node.value, lambda side: self._assign(node, side))
        else:
            self._assign(node, node.value)

    def _assign(self, node: cst.Assign, value: cst.BaseExpression) -> None:
        flow = self.flow(value)
        for target in node.targets:
            self.assign_target(target.target, flow, node, value)

    def _either(self, node: cst.IfExp, read: Callable[[cst.BaseExpression], None]) -> None:
        """Emit a branch for a conditional expression; `read` emits what happens on a side of it."""
        self.flow(node.test)
        sides: list[Seq] = []
        for side in (node.body, node.orelse):
            outer, self._events = self._events, []
            read(side)
            sides.append(Seq(tuple(self._events)))
            self._events = outer
        self._events.append(as_mode_branch(self._conditions.read(node.test), sides[0], sides[1]))

    def _assign_grad(self, target: cst.BaseExpression, node: cst.Assign) -> None:
        owners = self.grad_owners(target)
        found = set(words(node.value))
        if found == {"None"}:
            self.emit(ZeroGrad(self.site(node), owner=owners[0] if owners else ""))
        elif found & {"clamp", "clip", "clamp_"} and isinstance(node.value, cst.Call):
            self.hand_clip(node.value, owners, node.value.args[-1].value if node.value.args else None)
        else:
            self.flow(node.value)
            sums = isinstance(node.value, cst.BinaryOperation) and isinstance(
                node.value.operator, (cst.Add, cst.Subtract)
            )
            by = self.program.readings.adds(node.value, target) if sums else ""
            self.emit(GradAccess(self.site(node), owners, writes=True, by=by))
            if self._rescales(node.value):
                self.rescale(node)

    def _read_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assign_target(node.target, self.flow(node.value), node, node.value)

    def _read_AugAssign(self, node: cst.AugAssign) -> None:
        if is_grad(node.target):
            adding = isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
            by = self.program.readings.adds(node.value, node.target) if adding else ""
            self.emit(GradAccess(self.site(node), self.grad_owners(node.target), writes=True, by=by))
            if self._rescales(node.value):
                self.rescale(node)
            return
        if isinstance(node.operator, _TIMES) and "loss" not in path_of(node.target):
            if self.program.loss_scales.in_play(node) and self._rescales(node.value):
                self.rescale(node)
        flow = self.flow(node.value) | self.flow(node.target) | Flow(computes=True)
        self.assign_target(node.target, flow, node)

    def _read_Return(self, node: cst.Return) -> None:
        flow = self.flow(node.value) if node.value is not None else Flow()
        self._leave(node)
        self._events.append(Jump("return", flow.carried, flow.args, flow.computes))

    def _read_Raise(self, node: cst.Raise) -> None:
        self._events.append(Jump("raise"))

    def _read_Break(self, node: cst.Break) -> None:
        self._leave(node)
        self._events.append(Jump("break"))

    def _read_Continue(self, node: cst.Continue) -> None:
        self._leave(node)
        self._events.append(Jump("continue"))

    def _leave(self, node: cst.CSTNode) -> None:
        """Emit that a branch or a handler leaves early, where that may leave a scaler in the middle of its round."""
        branch = self.program.tree.enclosing(node, cst.If, cst.FunctionDef)
        handles = self._is_in_handler(node)
        if self.program.unscales and (handles or isinstance(branch, cst.If)):
            bad = handles or (isinstance(branch, cst.If) and asks_for_trouble(branch.test))
            if bad or not isinstance(node, cst.Return):  # a helper that unscales may just return what it has done
                self.emit(Leave(self.site(node), bad))

    def _is_in_handler(self, node: cst.CSTNode) -> bool:
        """Whether a jump leaves a handler of what the file itself raises."""
        around = self.program.tree.enclosing(node, cst.ExceptHandler, cst.FunctionDef, cst.For, cst.While)
        if not isinstance(around, cst.ExceptHandler):
            return False
        caught = set(words(around.type)) if around.type is not None else _ALL_ERRORS
        return bool(caught & (_ALL_ERRORS | self.program.raised))

    def _read_Expr(self, node: cst.Expr) -> None:
        self.flow(node.value)
        if isinstance(node.value, cst.Call) and path_of(node.value.func) in _LEAVING:
            self._events.append(Jump("raise"))


def last_small(body: cst.BaseSuite) -> cst.CSTNode | None:
    """The small statement that ends a block, if one does."""
    if not body.body:
        return None
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return last.body[-1]
    return last if isinstance(last, cst.BaseSmallStatement) else None
