"""Compound statements, and blocks of statements: branches, loops, regions and handlers as pieces of an event graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from amplint.lowering.conditions import ConditionReader
from amplint.lowering.context_statements import ContextReader
from amplint.lowering.counters import counts_from
from amplint.lowering.expressions import ExpressionReader
from amplint.lowering.first_iterations import CountedLoop
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.gradients import catches_runtime_errors
from amplint.lowering.graph_tools import events_in, only_advances
from amplint.lowering.loop_targets import alias_elements, chosen_keys, members, name_owners, target_names
from amplint.lowering.mode_branches import as_mode_branch, is_about_amp, is_varying, needs_amp
from amplint.lowering.remembered_unscales import is_remembered
from amplint.lowering.simple_statements import SimpleStatementReader
from amplint.model.event_graph import Branch, Loop, Node, Seq, Test, Try
from amplint.model.events import GRADIENT, Assign, Escape, Unscale
from amplint.model.references import reference, site_text
from amplint.syntax.access_paths import path_of
from amplint.syntax.entered_contexts import entered_by, left_behind
from amplint.syntax.words import words


class BlockReader:
    """Reads blocks of statements.

    Args:
        builder: what the events are written to.
    """

    def __init__(self, builder: FunctionBuilder) -> None:
        self._builder = builder
        self._emit, self._site = builder.emit, builder.site
        self._scope = builder.scope
        self._program = builder.scope.program
        self._conditions = ConditionReader(builder.scope)
        self._expressions = ExpressionReader(builder, self._conditions)
        self._simple = SimpleStatementReader(builder, self._expressions)
        self._contexts = ContextReader(builder, self._conditions, self._expressions, self.read)
        self._objects_of_loop: frozenset[str] = frozenset()
        self._picked: set[int] = set()

    def read(self, block: cst.BaseSuite | cst.Module | cst.Else | cst.Finally | None) -> Seq:
        """The piece of graph of a block; nothing for one that is left out."""
        if isinstance(block, (cst.Else, cst.Finally)):
            block = block.body
        return self._block(block.body) if block is not None else Seq()

    def close(self) -> None:
        """Let go of the other readers: they know each other, so that only the collector of garbage would free them."""
        vars(self._expressions).clear()
        vars(self._contexts).clear()

    def _block(self, statements: Sequence[cst.CSTNode]) -> Seq:
        return self._builder.block(partial(self._statements, statements))

    def _statements(self, statements: Sequence[cst.CSTNode]) -> None:
        for index, statement in enumerate(statements):
            last = index + 1 == len(statements)
            if not last and type(statement) is cst.If and _is_leaving_branch(statement):
                self._expressions.read(statement.test)
                condition = self._conditions.read(statement.test)
                leaving, rest = self.read(statement.body), self._block(statements[index + 1 :])
                self._emit(as_mode_branch(condition, leaving, rest))
                return
            if type(statement) is cst.If and self._picks_rest(statement):
                self._emit(self._of_some(self._block(statements[index + 1 :])))
                return
            context = entered_by(statement)
            region = self._program.contexts.of(context) if context is not None else None
            if context is not None and region is not None:
                following = statements[index + 1 :]
                inside = left_behind(statement, following)
                self._emit(self._contexts.switched(statement, context, region, self._block(following[:inside])))
                self._statements(following[inside:])
                return
            self._statement(statement)

    def _statement(self, node: cst.CSTNode) -> None:
        match node:
            case cst.SimpleStatementLine():
                for small in node.body:
                    self._simple.read(small)
            case cst.If():
                self._if(node)
            case cst.For():
                self._for(node)
            case cst.While():
                self._expressions.read(node.test)
                condition = self._conditions.read(node.test)
                orelse = self.read(node.orelse)
                self._emit(Loop(self._site(node), self._loop_body(node), orelse, (), condition))
            case cst.With():
                self._emit(self._contexts.read(node))
            case cst.Try():
                body = self.read(node.body)
                handlers = tuple(self._handler(each, body) for each in node.handlers)
                self._emit(Try(body, handlers, self.read(node.orelse), self.read(node.finalbody)))
            case cst.Match():
                self._match(node)
            case _:
                self._simple.read(node)

    def _handler(self, handler: cst.ExceptHandler, tried: Node) -> Seq:
        """What a handler does; one for the end of an iterator does it when an epoch is over, and one for the error of `unscale_`
        where somebody else has unscaled."""
        body = self.read(handler.body)
        if catches_runtime_errors(handler) and any(isinstance(event, Unscale) for event in events_in(tried)):
            body = Seq((Escape(self._site(handler), ()), *body.parts))
        if handler.type is None or path_of(handler.type) != "StopIteration":
            return body
        over = Test(f"StopIteration at {site_text(self._site(handler))}", kind="moment")
        return Seq((Branch(over, body, Seq()),))

    # -- branches --------------------------------------------------------------------------------------------------

    def _if(self, node: cst.If) -> None:
        self._expressions.read(node.test)
        condition = self._conditions.read(node.test)
        if self._selects(node) and not is_about_amp(condition):
            self._emit(self._of_some(self.read(node.body)))
            return
        then = self.read(node.body)
        orelse = self._block([node.orelse]) if isinstance(node.orelse, cst.If) else self.read(node.orelse)
        if is_remembered(node, then):
            orelse = Seq((*orelse.parts, Escape(self._site(node.test), ())))
        branch = as_mode_branch(condition, then, orelse)
        self._note_test(node, branch)
        self._emit(branch)

    def _selects(self, node: cst.If) -> bool:
        """Whether a test says which optimizers a loop over them is for; later loops over them will ask the same."""
        return node.orelse is None and not self._objects_of_loop.isdisjoint(words(node.test))

    def _picks_rest(self, node: cst.If) -> bool:
        """Whether a test says which optimizers what follows it is for: it leaves the others to the next iteration."""
        if not (self._selects(node) and isinstance(_last_small(node.body), cst.Continue)):
            return False
        self._expressions.read(node.test)
        return not is_about_amp(self._conditions.read(node.test))

    def _of_some(self, body: Seq) -> Seq:
        """A piece of graph that is for some of the optimizers of a loop."""
        self._picked |= {getattr(event, "site", -1) for event in events_in(body)}
        return body

    def _note_test(self, node: cst.If, branch: Branch) -> None:
        if is_about_amp(branch.condition):
            self._program.amp_tests.add(node)
        if needs_amp(branch.condition):
            self._program.amp_needed.add(node)
        if is_varying(branch.condition):
            self._program.varying_tests.add(node)

    def _match(self, node: cst.Match) -> None:
        self._expressions.read(node.subject)
        branch: Node = Seq()
        for case in reversed(node.cases):
            body = self.read(case.body)
            if isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None and case.guard is None:
                branch = body
                continue
            branch = as_mode_branch(self._conditions.matches(node.subject, case), body, branch)
        self._emit(branch)

    # -- loops -----------------------------------------------------------------------------------------------------

    def _for(self, node: cst.For) -> None:
        choice = chosen_keys(node.target, node.iter, node.body, self._scope)
        if choice is not None:
            self._expressions.branch(choice, partial(self._over, node))
        else:
            self._over(node, node.iter)

    def _over(self, node: cst.For, source: cst.BaseExpression) -> None:
        outer, picking = self._scope.aliases, self._scope.picking
        if found := members(node, source, self._scope):
            self._expressions.read(node.iter)
            for name, reference in found:
                self._scope.aliases = {**outer, name: reference}
                self._emit(self.read(node.body))
            self._emit(self.read(node.orelse))
        else:
            self._scope.aliases = dict(outer)
            self._loop(node)
        self._scope.aliases, self._scope.picking = outer, picking

    def _loop(self, node: cst.For) -> None:
        rescalings = self._expressions.gradients.rescalings
        targets = target_names(node.target)
        value = self._expressions.read(node.iter)
        over_objects = alias_elements(node, self._scope)
        name_owners(node, self._scope)
        orelse = self.read(node.orelse)
        changed = () if over_objects else tuple(map(self._scope.qualify, targets))
        carried = value.carried or ((GRADIENT,) if any(reference(name).is_gradient for name in value.args) else ())
        elements = (Assign(self._site(node), name, carried, value.args) for name in changed if carried)
        around, self._objects_of_loop = self._objects_of_loop, frozenset(targets if over_objects else ())
        counts = counts_from(node) if changed else None
        counted = self._counted(node, targets[0], counts) if counts is not None else None
        body = Seq((*elements, *self._loop_body(node, counted).parts))
        self._objects_of_loop = around
        if counted is not None and counted in self._conditions.firsts.asked:
            self._emit(counted.before)
            body = Seq((counted.each_time, *body.parts))
        picked = frozenset(self._picked) if over_objects else frozenset[int]()
        self._emit(
            Loop(self._site(node), body, orelse, changed, None, over_objects or only_advances(body), picked, counts)
        )
        if self._expressions.gradients.rescalings > rescalings:  # a loop over parameters does not run for none of them
            self._expressions.gradients.rescale(node)

    def _counted(self, node: cst.For, counter: str, begins: float) -> CountedLoop:
        fresh, first = self._builder.temporary(node), self._builder.temporary(node.target)
        return CountedLoop(self._site(node), counter, begins, first, fresh)

    def _loop_body(self, node: cst.For | cst.While, counted: CountedLoop | None = None) -> Seq:
        """The body of a loop, in which what the loop does not assign is constant."""
        conditions = self._conditions
        changing, around = conditions.kinds.changing, conditions.firsts.around
        conditions.kinds.changing = self._scope.assigned_in(node)
        conditions.firsts.enter(counted, self._scope.assigned_in(node.body))
        body = self.read(node.body)
        conditions.kinds.changing, conditions.firsts.around = changing, around
        return body


def _is_leaving_branch(node: cst.If) -> bool:
    """`if not amp: ...plain path...; return` and the AMP path after it: an if/else in other clothes."""
    leaves = isinstance(_last_small(node.body), (cst.Return, cst.Continue))
    return node.orelse is None and leaves and "backward" in words(node.body)


def _last_small(body: cst.BaseSuite) -> cst.CSTNode | None:
    """The small statement that ends a block, if one does."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        return last.body[-1]
    return last if isinstance(last, cst.BaseSmallStatement) else None
