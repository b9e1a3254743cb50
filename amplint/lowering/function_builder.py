"""Functions: the event graph of one, and the compound statements in it."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import OBJECTS, Flow
from amplint.lowering.graph_tools import events_in
from amplint.lowering.loop_targets import paired, target_names
from amplint.lowering.mode_branches import as_mode_branch, asks_for_amp, needs_amp, varies
from amplint.lowering.pruning import prune, without_idle_forwards
from amplint.lowering.statements import StatementReader, last_small
from amplint.model.event_graph import Condition, Function, Loop, Node, Scoped, Seq, Test, Try
from amplint.model.events import GRADIENT, Assign, ObjectFacts, Region
from amplint.model.references import reference
from amplint.syntax.access_paths import path_of
from amplint.syntax.words import words

_MAX_UNROLLED = 4


class FunctionReader(StatementReader):
    """Lowers one function (or the module's own statements) to its graph."""

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
            self.opaque,
        )

    # -- compound statements ---------------------------------------------------------------------------------------

    def _read_If(self, node: cst.If) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        if self._selects(node) and not asks_for_amp(condition):
            if not isinstance(last_small(node.body), cst.Continue):
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
        rescaled = len(self._rescaled)
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
        of_gradients = (GRADIENT,) if any(reference(name).is_gradient for name in flow.args) else ()
        elements = tuple(
            Assign(self.site(node), name, flow.carried or of_gradients, flow.args)
            for name in changed
            if flow.carried or of_gradients
        )
        around, self._objects_of_loop = self._objects_of_loop, frozenset(targets if over_objects else ())
        body = Seq((*elements, *self._loop_body(node).parts))
        self._objects_of_loop = around
        picked = frozenset(self._picked) if over_objects else frozenset()
        self._events.append(Loop(self.site(node), body, orelse, changed, None, over_objects, picked))
        if len(self._rescaled) > rescaled:  # a loop over parameters does not run for none of them
            self.rescale(node)
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
