"""Reading statements: the assignments of a body in their order, along one path, to what comes of them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import Tensor
from amplint.model.torch import precision
from amplint.runtime.numeric.body_results import BACKWARD, RETURN, YIELD, BodyResult, computable
from amplint.runtime.numeric.choices import Choices, Path
from amplint.runtime.numeric.expression import Apply, Container, Expression, Literal, Operand, Outside, Thing
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.sources import BodyScope
from amplint.runtime.numeric.terms import BINARY
from amplint.syntax.names import dotted
from amplint.syntax.nodes import is_sequence

_UNROLLED = 8


class Reader(Choices):
    """Reads one body of a file, and those that it calls.

    Args:
        facts: what the dtype flow knows of the file.
        path: what has to be led to, and which way conditions went.
    """

    def __init__(self, facts: DtypeTrace, path: Path) -> None:
        super().__init__(facts, path)
        self._entry: StackFrame | None = None
        self.results: list[BodyResult] = []
        """What the body comes to, in order."""
        self.rows: set[int] = set()
        """Where the statements begin that were read: assignments, regions, headers of functions, what is given back."""

    def read_body(self, frame: StackFrame) -> None:
        """Read the body of a frame from its parameters on; fills `results`."""
        self._entry = frame
        self.body(frame, self._given(frame))

    def _given(self, frame: StackFrame) -> dict[str, Expression]:
        """What is known of the parameters of the entry: objects, numbers, and defaults where nothing else is passed."""
        function = frame.scope
        held: dict[str, Expression] = {}
        if not isinstance(function, (cst.FunctionDef, cst.Lambda)):
            return held
        if frame.this is not None:
            held["self"] = Thing(frame.this)
        for param in (*function.params.posonly_params, *function.params.params, *function.params.kwonly_params):
            value = self.facts.given(frame, param)
            found = self.known(value) if value is not None else None
            if found is not None:
                held[param.name.value] = found
            elif isinstance(value, Tensor) and value.dtype != precision.UNKNOWN:
                held[param.name.value] = Operand(param.name.value, value.dtype, value.low, value.high, value.detached)
            elif param.default is not None:
                default = self.read(param.default, BodyScope(frame))
                if isinstance(default, (Literal, Container)):
                    held[param.name.value] = default
        return held

    def body(self, frame: StackFrame, held: dict[str, Expression]) -> Expression:
        scope = BodyScope(frame, held)
        self._pass(frame.scope)
        if isinstance(frame.scope, cst.Lambda):
            return self.read(frame.scope.body, scope)
        suite = frame.scope.body if isinstance(frame.scope, cst.FunctionDef) else None
        statements = suite.body if suite is not None else self.tree.module.body
        self._statements(statements, scope)
        return scope.returned or Literal(None)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _statements(self, statements: Sequence[cst.CSTNode], scope: BodyScope) -> None:
        for statement in statements:
            if scope.left:
                return
            self._statement(statement, scope)

    def _statement(self, node: cst.CSTNode, scope: BodyScope) -> None:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if not scope.left:
                    self._small(small, scope)
        elif isinstance(node, cst.BaseSmallStatement):  # of a body on the row of its head
            self._small(node, scope)
        elif isinstance(node, cst.If):
            self._if(node, scope)
        elif isinstance(node, cst.For):
            self._for(node, scope)
        elif isinstance(node, (cst.While, cst.With)):
            if isinstance(node, cst.With):
                self._pass(node)
                for item in node.items:
                    if item.asname is not None:
                        self._forget(item.asname.name, scope)
            self._looped(node.body.body, scope)
        elif isinstance(node, (cst.Try, cst.TryStar)):
            self._statements(node.body.body, scope)
            for more in (node.orelse, node.finalbody):
                if more is not None:
                    self._statements(more.body.body, scope)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            scope.held.pop(node.name.value, None)

    def _pass(self, node: cst.CSTNode) -> None:
        named = node.name if isinstance(node, cst.FunctionDef) else node
        self.rows.add(self.tree.range(named).start.row)

    def _small(self, node: cst.CSTNode, scope: BodyScope) -> None:
        if isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return)):
            self._pass(node)
        if isinstance(node, cst.Expr):
            self._expression(node.value, scope)
        elif isinstance(node, cst.Assign):
            value = self.read(node.value, scope)
            for target in node.targets:
                self._assign(target.target, value, scope)
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            self._assign(node.target, self.read(node.value, scope), scope)
        elif isinstance(node, cst.AugAssign):
            op = BINARY.get(type(node.operator), "")
            operands = self.read(node.target, scope), self.read(node.value, scope)
            in_place = isinstance(operands[0], (Apply, Operand))
            self._assign(node.target, self.operator(f"i{op}" if op and in_place else op, operands, node, scope), scope)
        elif isinstance(node, cst.Return):
            scope.returned = self.read(node.value, scope) if node.value is not None else Literal(None)
            self.file(RETURN, scope.returned, scope)
            scope.left = True
        elif isinstance(node, (cst.Raise, cst.Break, cst.Continue)):
            scope.left = True

    def _expression(self, node: cst.BaseExpression, scope: BodyScope) -> None:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "backward":
            given = [arg.value for arg in node.args if arg.keyword is None]
            base = self.read(node.func.value, scope)
            loss = self.read(given[0], scope) if given and not isinstance(base, Apply) else base
            self._pass(node)
            self.file(BACKWARD, loss, scope)
        elif isinstance(node, cst.Yield) and isinstance(node.value, cst.BaseExpression):
            self._pass(node)
            self.file(YIELD, self.read(node.value, scope), scope)
        else:
            self.statement_of(node, scope)

    def statement_of(self, node: cst.BaseExpression, scope: BodyScope) -> None:
        """What an expression comes to that is a statement; of a call of something unknown, what it is given.

        Args:
            node: the expression.
            scope: what names hold by now.
        """
        kind, before = self.words(node).partition("(")[0], BodyScope(scope.frame, dict(scope.held))
        value = self.read(node, scope)
        if not isinstance(value, Operand):
            self._pass(node)
        if isinstance(value, Outside) and isinstance(node, cst.Call):
            for arg in node.args:
                self.file(kind, self.read(arg.value, before), scope)
        self.file(kind, value, scope)

    def file(self, kind: str, value: Expression, scope: BodyScope) -> None:
        if scope.frame is self._entry:
            occurrence = sum(each.kind == kind for each in self.results)
            self.results.append(BodyResult(kind, occurrence, computable(value), id(value) in self.scaled))

    def _assign(self, target: cst.BaseExpression, value: Expression, scope: BodyScope) -> None:
        if is_sequence(target):
            self._unpack(target, value, scope)
        elif isinstance(target, cst.Subscript):
            base, index = self.read(target.value, scope), self.index(target, scope)
            if isinstance(base, Container):
                changed: Expression = Outside(self.words(target))
            else:
                changed = self.apply("subscript.setitem", (base, index, value), (), target, scope)
            self._hold(target.value, changed, scope)
        else:
            self._hold(target, value, scope)

    def _hold(self, target: cst.BaseExpression, value: Expression, scope: BodyScope) -> None:
        if dotted(target):
            scope.held[dotted(target)] = value
            self.file(self.words(target), value, scope)

    def _unpack(self, target: cst.Tuple | cst.List, value: Expression, scope: BodyScope) -> None:
        targets = [element.value for element in target.elements]
        if any(isinstance(element, cst.StarredElement) for element in target.elements):
            self._forget(target, scope)
        elif isinstance(value, Container) and len(value.items) == len(targets):
            for each, item in zip(targets, value.items):
                self._assign(each, item, scope)
        elif isinstance(value, Apply):
            for position, each in enumerate(targets):
                item = self.apply("subscript.getitem", (value, Literal(position)), (), value.node, scope)
                self._assign(each, item, scope)
        elif isinstance(value, Outside):
            for each in targets:
                self._assign(each, value, scope)
        else:
            self._forget(target, scope)

    def _forget(self, target: cst.CSTNode, scope: BodyScope) -> None:
        """What a target holds comes from outside: the dtype flow tells what is known of it."""
        if is_sequence(target):
            for element in target.elements:
                self._forget(element.value, scope)
        elif isinstance(target, (cst.Name, cst.Attribute)):
            scope.held.pop(dotted(target), None)

    # -- branches and loops --------------------------------------------------------------------------------------------

    def _for(self, node: cst.For, scope: BodyScope) -> None:
        items = self.read(node.iter, scope)
        rounds = items.items[:_UNROLLED] if isinstance(items, Container) and items.keys is None else (None,)
        for item in rounds:
            if item is None:
                self._forget(node.target, scope)
            else:
                self._assign(node.target, item, scope)
            self._looped(node.body.body, scope)

    def _looped(self, statements: Sequence[cst.CSTNode], scope: BodyScope) -> None:
        self._statements(statements, scope)
        if scope.returned is None:  # left by a `break` or a `continue`, no more
            scope.left = False

    def _if(self, node: cst.If, scope: BodyScope) -> None:
        orelse = node.orelse
        other = () if orelse is None else (orelse,) if isinstance(orelse, cst.If) else orelse.body.body
        branches: tuple[Sequence[cst.CSTNode], ...] = (node.body.body, other)
        self._statements(branches[self.way(node, scope)], scope)
