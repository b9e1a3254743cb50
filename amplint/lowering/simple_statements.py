"""Simple statements: assignments, jumps and expressions that stand alone, as events."""

from __future__ import annotations

from functools import partial

import libcst as cst

from amplint.lowering.early_exits import exit_event
from amplint.lowering.expressions import ExpressionReader
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.gradients import is_grad
from amplint.lowering.provenance import Provenance, union
from amplint.model.event_graph import Jump
from amplint.model.events import GradAccess, ZeroGrad
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import children
from amplint.syntax.words import words
from amplint.uses import gradient_additions

_TIMES = (cst.MultiplyAssign, cst.DivideAssign)
_LEAVING = frozenset({"exit", "sys.exit", "os._exit", "quit"})


class SimpleStatementReader:
    """Reads statements that hold no other statements.

    Args:
        builder: what the events are written to.
        expressions: reads the expressions in them.
    """

    def __init__(self, builder: FunctionBuilder, expressions: ExpressionReader) -> None:
        self._builder = builder
        self._scope = builder.scope
        self._program = builder.scope.program
        self._expressions = expressions
        self._gradients = expressions.gradients
        self._read = expressions.read

    def read(self, node: cst.CSTNode) -> None:
        """Emit the events of a statement."""
        match node:
            case cst.Expr():
                self._read(node.value)
                if isinstance(node.value, cst.Call) and path_of(node.value.func) in _LEAVING:
                    self._builder.emit(Jump("raise"))
            case cst.Assign():
                self._assign(node)
            case cst.AnnAssign():
                if node.value is not None:
                    self._expressions.assign(node.target, self._read(node.value), node, node.value)
            case cst.AugAssign():
                self._augment(node)
            case cst.Return():
                value = self._read(node.value) if node.value is not None else Provenance()
                self._leave(node)
                self._builder.emit(Jump("return", value.carried, value.args, value.computes))
            case cst.Break() | cst.Continue():
                self._leave(node)
                self._builder.emit(Jump("break" if isinstance(node, cst.Break) else "continue"))
            case cst.Raise():
                self._builder.emit(Jump("raise"))
            case cst.FunctionDef() | cst.ClassDef() | cst.Import() | cst.ImportFrom() | cst.Global() | cst.Nonlocal():
                pass
            case _:
                union(map(self._read, children(node)))

    def _assign(self, node: cst.Assign) -> None:
        grad = next((each.target for each in node.targets if is_grad(each.target)), None)
        if grad is not None:
            self._assign_grad(grad, node)
        elif type(node.value) is cst.IfExp:
            self._expressions.branch(node.value, partial(self._assign_all, node))
        else:
            self._assign_all(node, node.value)

    def _assign_all(self, node: cst.Assign, value: cst.BaseExpression) -> None:
        found = self._read(value)
        for target in node.targets:
            self._expressions.assign(target.target, found, node, value)

    def _assign_grad(self, target: cst.BaseExpression, node: cst.Assign) -> None:
        owners = self._scope.grad_owners(target)
        found = set(words(node.value))
        if found == {"None"}:
            self._builder.emit(ZeroGrad(self._builder.site(node), owner=owners[0] if owners else ""))
        elif found & {"clamp", "clip", "clamp_"} and isinstance(node.value, cst.Call):
            self._gradients.hand_clip(node.value, owners)
        else:
            self._read(node.value)
            made = node.value if isinstance(node.value, cst.BinaryOperation) else None
            times = made is not None and isinstance(made.operator, (cst.Multiply, cst.Divide))
            if made is None or not (
                times and target.deep_equals(made.left) and self._gradients.keeps_scale(made.right)
            ):
                adds = made is not None and isinstance(made.operator, (cst.Add, cst.Subtract))
                self._change_grad(node, target, node.value, adds)

    def _change_grad(
        self, node: cst.CSTNode, target: cst.BaseExpression, change: cst.BaseExpression, adds: bool
    ) -> None:
        by = gradient_additions.added(self._program.flow, change, target) if adds else ""
        owners = self._scope.grad_owners(target)
        self._builder.emit(GradAccess(self._builder.site(node), owners, writes=True, by=by))
        self._gradients.rescale_by(node, change)

    def _augment(self, node: cst.AugAssign) -> None:
        if is_grad(node.target):
            adds = isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
            if not isinstance(node.operator, _TIMES) or not self._gradients.keeps_scale(node.value):
                self._change_grad(node, node.target, node.value, adds)
            return
        if isinstance(node.operator, _TIMES) and "loss" not in path_of(node.target):
            if self._program.loss_scales.in_play(node):
                self._gradients.rescale_by(node, node.value)
        value = self._read(node.value) | self._read(node.target) | Provenance(computes=True)
        self._expressions.assign(node.target, value, node)

    def _leave(self, node: cst.CSTNode) -> None:
        """Emit that a branch or a handler leaves early, where that may leave a scaler in the middle of its round."""
        if (event := exit_event(self._program, node)) is not None:
            self._builder.emit(event)
