"""The dtype flow through statements: branches join, loops run twice, contexts open regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from amplint.dtypes import containers
from amplint.dtypes.branch_sides import BranchSides, Side
from amplint.dtypes.calls import Calls
from amplint.dtypes.expressions import BINARY
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import (
    UNKNOWN,
    Arguments,
    Class,
    Closure,
    Items,
    Record,
    Tensor,
    Value,
)
from amplint.model.events import NO_GRAD, Region
from amplint.syntax.entered_contexts import entered_by, left_behind, may_enter
from amplint.syntax.nodes import within

_BLOCKS = (cst.If, cst.For, cst.While, cst.With, cst.Try, cst.TryStar, cst.Match, cst.FunctionDef)
_ASKING = frozenset({cst.Comparison, cst.Call, cst.UnaryOperation, cst.BooleanOperation})
"""What may ask something whose answer a name keeps."""


class Statements(Calls):
    """Follows statements."""

    @cached_property
    def _sides(self) -> BranchSides:
        return BranchSides(self.names, self.contexts)

    @cached_property
    def _has_stacks(self) -> bool:
        """Whether the file may enter contexts by a stack that leaves them."""
        return may_enter(self.tree.source.text)

    def run(self, body: cst.BaseSuite, frame: StackFrame) -> None:
        self._run(body.body, frame)

    def _run(self, statements: Sequence[cst.CSTNode], frame: StackFrame) -> None:
        for index, statement in enumerate(statements):
            if not frame.alive:
                return
            self.follow(statement, frame)
            context = entered_by(statement) if self._has_stacks else None
            region = self.contexts.of(context) if context is not None else None
            if region is not None:
                following, around = statements[index + 1 :], frame.regions
                inside = left_behind(statement, following)
                frame.regions = (*around, region)
                self._run(following[:inside], frame)
                frame.regions = around
                self._run(following[inside:], frame)
                return

    def follow(self, node: cst.CSTNode, frame: StackFrame) -> None:
        """Follow one statement.

        Args:
            node: the statement.
            frame: where evaluation stands; its variables change.
        """
        if type(node) is cst.SimpleStatementLine:
            for small in node.body:
                self._small(small, frame)
        elif type(node) is cst.If:
            self._if(node, frame)
        elif isinstance(node, (cst.For, cst.While)):
            self._loop(node, frame)
        elif isinstance(node, cst.With):
            self._with(node, frame)
        elif isinstance(node, (cst.Try, cst.TryStar)):
            self._try(node, frame)
        elif isinstance(node, cst.FunctionDef):
            frame.variables[node.name.value] = Closure(node, frame)
        elif isinstance(node, cst.ClassDef):
            frame.variables[node.name.value] = Class(node)
        elif isinstance(node, cst.Match):
            self.evaluate(node.subject, frame)
            self._branches([None, *(case.body for case in node.cases)], frame, {})
        elif isinstance(node, cst.BaseSmallStatement):  # of a body on the row of its head
            self._small(node, frame)

    def _small(self, node: cst.BaseSmallStatement, frame: StackFrame) -> None:
        if type(node) is cst.Expr:
            self.evaluate(node.value, frame)
        elif type(node) is cst.Assign:
            value = self.assigned(node.value, frame)
            if type(node.value) in _ASKING:
                frame.known_tests[id(node.value)] = self.asked(node.value, frame)
            for target in node.targets:
                self.assign(target.target, value, frame)
                if type(target.target) is cst.Subscript:
                    self._store(target.target, node.value, value, frame)
        elif type(node) is cst.AnnAssign:
            if node.value is not None:
                self.assign(node.target, self.assigned(node.value, frame), frame)
        elif type(node) is cst.AugAssign:
            value = self.binary(BINARY.get(type(node.operator), ""), node, node.target, node.value, frame, True)
            self.assign(node.target, value, frame)
        elif type(node) is cst.Return:
            value = self.assigned(node.value, frame) if node.value is not None else UNKNOWN
            frame.returned += [] if frame.left_with_amp else [value]
            frame.alive = False
        elif type(node) is cst.Raise or type(node) is cst.Break or type(node) is cst.Continue:
            frame.alive = False
        elif type(node) is cst.Assert:
            self.evaluate(node.test, frame)

    def _store(self, target: cst.Subscript, node: cst.BaseExpression, value: Value, frame: StackFrame) -> None:
        """`x[i] = value`."""
        base = self.evaluate(target.value, frame)
        index = target.slice[0].slice if len(target.slice) == 1 else None
        if isinstance(base, Record):
            key = containers.text_key(index.value) if isinstance(index, cst.Index) else None
            self.assign(target.value, containers.stored(base, key, value), frame)
        if isinstance(base, Items) and isinstance(index, cst.Index):
            self.assign(target.value, containers.with_item(base, self.evaluate(index.value, frame), value), frame)
        if isinstance(base, Tensor):
            self.record("setitem", Arguments((target.value, node), (base, value)), base, target, frame, True)

    def _if(self, node: cst.If, frame: StackFrame) -> None:
        bodies: list[Side] = []
        branch: cst.If | cst.Else | None = node
        last = node
        while type(branch) is cst.If:
            last = branch
            self.evaluate(branch.test, frame)
            decided = self.asked(branch.test, frame)
            if decided is not False:
                bodies.append(branch.body)
            if decided:
                break
            branch = branch.orelse
        else:
            bodies = [*bodies, branch.body] if branch is not None else [None, *bodies]
        lowered, plain = self._sides.of_amp(last)
        plain = plain if frame.without_amp or lowered is not None else None
        given_back, off = len(frame.returned), self._sides.switched_off(node)
        self._branches(bodies, frame, off, plain, lowered if lowered in bodies else None)
        if lowered is not None and plain is None and self.tree.enclosing(node, *_BLOCKS) is frame.scope:
            frame.left_with_amp = frame.left_with_amp or len(frame.returned) > given_back

    def _branches(
        self,
        bodies: Sequence[Side],
        frame: StackFrame,
        off: Mapping[Side, Region],
        plain: Side = None,
        lowered: Side = None,
    ) -> None:
        """Follow alternatives.

        Args:
            bodies: the alternatives; None for the one that does nothing.
            frame: where evaluation stands; behind them what all that end were in goes on without gradients.
            off: the regions that alternatives are in.
            plain: the alternative that runs without AMP.
            lowered: the one that does the same with AMP: what follows is looked at as it runs then.
        """
        before, around = frame.variables, frame.regions
        results: dict[Side, tuple[dict[str, Value], bool]] = {}
        given_back = list(frame.returned)
        returned: dict[Side, list[Value]] = {}
        ended: set[Region | None] = set()
        for body in bodies:
            start = frame.plain(before) if body is plain is not None else before
            frame.variables, frame.alive = dict(start), True
            frame.regions = (*around, off[body]) if body in off else around
            frame.returned = []
            if body is not None:
                self.run(body, frame)
            returned[body] = frame.returned
            kept = before if lowered is None and body is plain is not None else {}
            as_before = {name: value for name, value in kept.items() if frame.variables.get(name) is start[name]}
            results[body] = ({**frame.variables, **as_before}, frame.alive)
            if frame.alive:
                ended.add(off.get(body))
        frame.regions = (*around, NO_GRAD) if ended == {NO_GRAD} else around
        if lowered is not None and returned[lowered] and plain is not None:
            returned[plain] = []
        frame.returned = given_back + [value for body in bodies for value in returned[body]]
        passed_over = self._passed_over(bodies)
        going_on = {body: result for body, result in results.items() if body not in passed_over}
        told_apart = lowered is not None and going_on.keys() == {lowered, plain}
        if told_apart and all(alive for _, alive in going_on.values()):
            frame.merge_with_amp(going_on[lowered][0], going_on[plain][0])
        else:
            frame.merge(before, [*going_on.values()])

    def _passed_over(self, bodies: Sequence[Side]) -> list[Side]:
        """The alternatives that only evaluate, where another one lowers precision: what follows is looked at as it trains."""
        sides = [body for body in bodies if body is not None]
        idle = [body for body in sides if self._sides.is_idle(body)]
        trains = any(self._sides.lowers(body) for body in sides if body not in idle) if idle else False
        return [*idle] if trains else []

    def _loop(self, node: cst.For | cst.While, frame: StackFrame) -> None:
        around, surely = frame.regions, False
        for turn in range(2):
            before = dict(frame.variables)
            if isinstance(node, cst.For):
                element = self.element(node.iter, frame)
                surely = self._surely_runs(node, element, frame)
                self.assign(node.target, element, frame)
            else:
                self.evaluate(node.test, frame)
            self.run(node.body, frame)
            frame.regions = around
            if not (surely and frame.alive and turn == 0):  # else the next turn begins where this one has ended
                frame.merge(before, [(before, True), (frame.variables, True)])
            if frame.variables == before:
                break
        if node.orelse is not None:
            self.run(node.orelse.body, frame)

    def _surely_runs(self, loop: cst.For, element: Value, frame: StackFrame) -> bool:
        """Whether the body of a loop runs as a whole, once at least: a model that keeps a list of modules has something in it."""
        jumps = any(isinstance(each, (cst.Break, cst.Continue)) for each in within(loop.body))
        if jumps or any(isinstance(each, cst.Slice) for each in within(loop.iter)):
            return False
        match loop.iter:
            case cst.Call(
                func=cst.Name("range"),
                args=[cst.Arg(value=cst.Call(func=cst.Name("len"), args=[cst.Arg(value=counted)]))],
            ):
                element = self.element(counted, frame)
            case cst.Call(func=cst.Name("range"), args=[cst.Arg(value=cst.Integer(value=times))]):
                return times != "0"
        parts = element.items if isinstance(element, Items) else (element,)
        return any(self.stands_for_many(each, frame) for each in parts)

    def _with(self, node: cst.With, frame: StackFrame) -> None:
        outside = frame.regions
        for item in node.items:
            region: Region | None = self.contexts.of(item.item)
            if region is not None:
                frame.regions += (region,)
            else:
                self.evaluate(item.item, frame)
            if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression):
                self.assign(item.asname.name, UNKNOWN, frame)
        self.run(node.body, frame)
        frame.regions = outside

    def _try(self, node: cst.Try | cst.TryStar, frame: StackFrame) -> None:
        before, around = dict(frame.variables), frame.regions
        self.run(node.body, frame)
        if frame.alive and node.orelse is not None:
            self.run(node.orelse.body, frame)
        frame.regions = around
        results = [(frame.variables, frame.alive)]
        for handler in node.handlers:
            frame.variables, frame.alive = dict(before), True
            self.run(handler.body, frame)
            frame.regions = around
            results.append((frame.variables, frame.alive))
        frame.merge(before, results)
        if node.finalbody is not None:
            alive, frame.alive = frame.alive, True
            self.run(node.finalbody.body, frame)
            frame.alive = alive and frame.alive
