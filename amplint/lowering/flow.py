"""Statements: the event graph of one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from amplint.lowering.access import path_of
from amplint.lowering.conditions import Conditions, asks_for_trouble, words
from amplint.lowering.expressions import ExpressionReader
from amplint.lowering.gradients import is_grad
from amplint.lowering.loops import paired, target_names
from amplint.lowering.scope import OBJECTS, Flow
from amplint.lowering.structure import (
    as_mode_branch,
    asks_for_amp,
    events_in,
    needs_amp,
    prune,
    varies,
    without_idle_forwards,
)
from amplint.lowering.tree import children
from amplint.model.events import Assign, GradAccess, Leave, ObjectFacts, Region, ZeroGrad
from amplint.model.graph import Condition, Function, Jump, Loop, Node, Scoped, Seq, Test, Try

if TYPE_CHECKING:
    from amplint.lowering.summaries import Program

_LEAVING = frozenset({"exit", "sys.exit", "os._exit", "quit"})
_MAX_UNROLLED = 4


class FunctionReader(ExpressionReader):
    """Lowers one function (or the module's own statements) to its graph."""

    def __init__(self, program: Program, node: cst.FunctionDef | cst.Module, key: str) -> None:
        super().__init__(program, node, key)
        self._conditions = Conditions(
            self.ref,
            self.definition,
            self._changing(),
            self.scale_names,
            lambda node: self.roles.of(node).role,
        )

    def function(self) -> Function:
        """The graph."""
        body: Node = self._body(self._node.body)
        if isinstance(self._node, cst.FunctionDef):
            for region in reversed(self.program.contexts.decorating(self._node)):
                body = Scoped(self.site(self._node), region, body)
        params = self._parameters() if isinstance(self._node, cst.FunctionDef) else ()
        local = frozenset(self._bound) if isinstance(self._node, cst.FunctionDef) else frozenset[str]()
        return Function(
            self._key,
            params,
            prune(without_idle_forwards(body)),
            local | {"self"},
            self._objects,
            self.site(self._node),
            self.program.tree.home(self._node).source.path.endswith(".pyi"),
        )

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
        last = _last_small(node.body)
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

    def _read_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assign_target(node.target, self.flow(node.value), node, node.value)

    def _read_AugAssign(self, node: cst.AugAssign) -> None:
        if is_grad(node.target):
            adding = isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
            by = self.program.readings.adds(node.value, node.target) if adding else ""
            self.emit(GradAccess(self.site(node), self.grad_owners(node.target), writes=True, by=by))
            return
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
        """Emit that a branch leaves early, where that may leave a scaler in the middle of its round."""
        branch = self.program.tree.enclosing(node, cst.If, cst.FunctionDef)
        if self.program.unscales and isinstance(branch, cst.If):
            bad = asks_for_trouble(branch.test)
            if bad or not isinstance(node, cst.Return):  # a helper that unscales may just return what it has done
                self.emit(Leave(self.site(node), bad))

    def _read_Expr(self, node: cst.Expr) -> None:
        self.flow(node.value)
        if isinstance(node.value, cst.Call) and path_of(node.value.func) in _LEAVING:
            self._events.append(Jump("raise"))

    # -- compound statements ---------------------------------------------------------------------------------------

    def _read_If(self, node: cst.If) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        if self._selects(node) and not asks_for_amp(condition):
            if not isinstance(_last_small(node.body), cst.Continue):
                body = self._body(node.body)
                self._picked |= {getattr(event, "site", -1) for event in events_in(body)}
                self._events.append(body)
            return
        then = self._body(node.body)
        if isinstance(node.orelse, cst.If):
            orelse = self._body([node.orelse])
        else:
            orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        branch = as_mode_branch(condition, then, orelse)
        if asks_for_amp(branch.condition):
            self.program.amp_tests.add(node)
        if needs_amp(branch.condition):
            self.program.amp_needed.add(node)
        if varies(branch.condition):
            self.program.varying_tests.add(node)
        self._events.append(branch)

    def _selects(self, node: cst.If) -> bool:
        """Whether a test says which optimizers a loop over them is for; later loops over them will ask the same."""
        return node.orelse is None and not self._objects_of_loop.isdisjoint(words(node.test))

    def _read_Match(self, node: cst.Match) -> None:
        self.flow(node.subject)
        subject = self._conditions.normal(node.subject)
        branch: Node = Seq()
        for case in reversed(node.cases):
            body = self._body(case.body)
            if isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None and case.guard is None:
                branch = body
                continue
            test: Condition = Test(f"{subject} matches {self._conditions.normal(case.pattern)}", kind="config")
            branch = as_mode_branch(test, body, branch)
        self._events.append(branch)

    def _read_For(self, node: cst.For) -> None:
        members = self._members(node)
        if members:
            self.flow(node.iter)
            for member in members:
                assert isinstance(node.target, cst.Name)
                with_alias = {**self._aliases, node.target.value: self.ref(member)}
                outer, self._aliases = self._aliases, with_alias
                self._events.append(self._body(node.body))
                self._aliases = outer
            return
        outer, self._aliases = self._aliases, dict(self._aliases)
        targets = list(target_names(node.target))
        flow = self.flow(node.iter)
        over_objects = self._alias_elements(node)
        owners = tuple(self.qualify(path) for path in self.roles.owners(node.iter))
        for name in targets:
            self._loop_owners[name] = owners or self._loop_owners.get(
                path_of(node.iter).partition(".")[0].partition("[")[0], ()
            )
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        changed = () if over_objects else tuple(self.qualify(name) for name in targets)
        elements = tuple(Assign(self.site(node), name, flow.carried, flow.args) for name in changed if flow.carried)
        around, self._objects_of_loop = self._objects_of_loop, frozenset(targets if over_objects else ())
        body = Seq((*elements, *self._loop_body(node).parts))
        self._objects_of_loop = around
        picked = frozenset(self._picked) if over_objects else frozenset()
        self._events.append(Loop(self.site(node), body, orelse, changed, None, over_objects, picked))
        self._aliases = outer

    def _loop_body(self, node: cst.For | cst.While) -> Seq:
        """The body of a loop, in which what the loop does not assign is constant."""
        outer, self._conditions.changing = self._conditions.changing, self._assigned_in(node)
        body = self._body(node.body)
        self._conditions.changing = outer
        return body

    def _members(self, node: cst.For) -> list[cst.BaseExpression]:
        """The elements of a short literal collection of objects, or of a name for one, over which a loop is unrolled."""
        source = self.definition(node.iter) if isinstance(node.iter, cst.Name) else node.iter
        if not isinstance(source, (cst.List, cst.Tuple)) or not isinstance(node.target, cst.Name):
            return []
        members = [element.value for element in source.elements]
        known = all(self.roles.of(member).role in OBJECTS and path_of(member) for member in members)
        return members if known and len(members) <= _MAX_UNROLLED else []

    def _alias_elements(self, node: cst.For) -> bool:
        """Whether a loop runs over a collection of optimizers, scalers or schedulers; names its elements after it."""
        found = False
        for target, source in paired(node.target, node.iter):
            container = self.ref(source)
            roles = {self.roles.of(source).role, self.roles.of(target).role}
            if container and roles & OBJECTS:
                self._aliases[target.value] = f"{container}[*]"
                self._objects.setdefault(f"{container}[*]", ObjectFacts(sorted(roles & OBJECTS)[0]))
                found = True
        return found

    def _read_While(self, node: cst.While) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        self._events.append(Loop(self.site(node), self._loop_body(node), orelse, (), condition))

    def _read_With(self, node: cst.With) -> None:
        entered: list[tuple[int, Region]] = []
        for item in node.items:
            region = self.program.contexts.of(item.item)
            flow = self.flow(item.item)
            if region is not None:
                entered.append((self.site(item), region))
            if item.asname is not None:
                self.assign_target(item.asname.name, Flow(flow.args and ("?",)), item)
        body: Node = self._body(node.body)
        for site, region in reversed(entered):
            body = Scoped(site, region, body)
        self._events.append(body)

    def _read_Try(self, node: cst.Try) -> None:
        handlers = tuple(self._body(handler.body) for handler in node.handlers)
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        final = self._body(node.finalbody.body) if node.finalbody is not None else Seq()
        self._events.append(Try(self._body(node.body), handlers, orelse, final))


def _last_small(body: cst.BaseSuite) -> cst.CSTNode | None:
    if not body.body:
        return None
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return last.body[-1]
    return last if isinstance(last, cst.BaseSmallStatement) else None
