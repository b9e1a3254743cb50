"""Statements: the event graph of one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from amplint.lowering.calls import CallReader, Flow, is_grad
from amplint.lowering.conditions import Conditions, words
from amplint.lowering.roles import path_of
from amplint.lowering.structure import as_mode_branch, asks_for_amp, prune
from amplint.lowering.tree import children
from amplint.model.events import (
    GLOBAL, Assign, Branch, Call, Condition, Event, Function, GradAccess, Jump, Loop, Node, ObjectFacts, Region,
    Scoped, Seq, Test, Try, ZeroGrad,
)  # fmt: skip

if TYPE_CHECKING:
    from amplint.lowering.summaries import Program

_OBJECTS = frozenset({"optimizer", "scaler", "scheduler"})
_LEAVING = frozenset({"exit", "sys.exit", "os._exit", "quit"})
_MAX_UNROLLED = 4


class FunctionReader(CallReader):
    """Lowers one function (or the module's own statements) to its graph."""

    def __init__(self, program: Program, node: cst.FunctionDef | cst.Module, key: str) -> None:
        self.program = program
        self.names = program.names
        self.roles = program.roles
        self._node = node
        self._key = key
        self._events: list[Node] = []
        self._aliases: dict[str, str] = {}
        self._loop_owners: dict[str, tuple[str, ...]] = {}
        self._bound = program.names.bindings_in(node)
        self._module = program.names.bindings_in(program.tree.module)
        self._objects: dict[str, ObjectFacts] = {}
        self.scale_names = self._derived_from("get_scale")
        self._conditions = Conditions(
            self.ref, self.definition, self._changing(), self.scale_names, lambda node: self.roles.of(node).role == "scaler"
        )

    def _derived_from(self, word: str) -> frozenset[str]:
        """The local names whose values are computed from something called `word`."""
        used = {
            name: {found for binding in bindings if binding.value is not None for found in words(binding.value)}
            for name, bindings in self._bound.items()
        }
        derived = {word}
        while more := {name for name, found in used.items() if found & derived} - derived:
            derived |= more
        return frozenset(derived - {word})

    def _changing(self) -> frozenset[str]:
        """The local names that are assigned inside a loop, or more than once."""
        loops = (cst.For, cst.While, cst.CompFor)
        changing = set()
        for name, bindings in self._bound.items():
            nodes = [binding.node for binding in bindings if binding.node is not None]
            if len(nodes) > 1 or any(self.program.tree.enclosing(node, *loops, cst.FunctionDef) is not self._node and
                                     isinstance(self.program.tree.enclosing(node, *loops, cst.FunctionDef), loops) for node in nodes):
                changing.add(name)
        return frozenset(changing)

    def function(self) -> Function:
        """The graph."""
        body = self._body(self._node.body)
        if isinstance(self._node, cst.FunctionDef):
            for region in reversed(self.program.contexts.decorating(self._node)):
                body = Scoped(self.site(self._node), region, body)
        params = self._parameters() if isinstance(self._node, cst.FunctionDef) else ()
        local = frozenset(self._bound) if isinstance(self._node, cst.FunctionDef) else frozenset[str]()
        return Function(self._key, params, prune(body), local | {"self"}, self._objects, self.site(self._node))

    def _parameters(self) -> tuple[str, ...]:
        assert isinstance(self._node, cst.FunctionDef)
        params = self._node.params
        return tuple(param.name.value for param in (*params.posonly_params, *params.params, *params.kwonly_params))

    def _params(self) -> frozenset[str]:
        return frozenset(self._parameters()) if isinstance(self._node, cst.FunctionDef) else frozenset()

    # -- what calls ask of the function ----------------------------------------------------------------------------

    def site(self, node: cst.CSTNode) -> int:
        """The number of a place."""
        return self.program.site(node)

    def emit(self, event: Event) -> None:
        """Append an event to the piece of graph at hand."""
        self._events.append(event)

    def text(self, node: cst.CSTNode) -> str:
        """Source text of a small expression."""
        return self.program.tree.module.code_for_node(node)

    def temporary(self, node: cst.CSTNode) -> str:
        """A reference for a value without a name."""
        return f"%{self.site(node)}"

    def assign_temporary(self, node: cst.CSTNode, flow: Flow) -> str:
        """Give a value a reference of its own."""
        target = self.temporary(node)
        self.emit(Assign(self.site(node), target, flow.carried, flow.args, flow.computes))
        return target

    def qualify(self, path: str) -> str:
        """An access path as a reference."""
        root = path.partition(".")[0].partition("[")[0]
        if root in self._aliases:
            return self._aliases[root] + path[len(root) :]
        if root not in self._bound or self._node is self.program.tree.module:
            if root in self._module and not self.program.is_closure(root, self._node):
                return GLOBAL + path
        return path

    def ref(self, node: cst.BaseExpression) -> str:
        """The reference that an expression names; empty for none."""
        path = path_of(node)
        if not path:
            return ""
        root = path.partition(".")[0].partition("[")[0]
        value = self._definition_of(root)
        if root not in self._aliases and value is not None and self.roles.of(value).role in _OBJECTS and path_of(value):
            if path_of(value).partition(".")[0] != root:
                return self.ref(value) + path[len(root) :]
        reference = self.qualify(path)
        facts = self.roles.of(node)
        if facts.role and reference not in self._objects:
            owners = tuple(self.qualify(owner) for owner in facts.owners if owner)
            self._objects[reference] = replace(facts, owners=owners)
        return reference

    def definition(self, name: cst.Name) -> cst.BaseExpression | None:
        """The only value that a local name is ever assigned."""
        return self._definition_of(name.value)

    def _definition_of(self, name: str) -> cst.BaseExpression | None:
        bindings = self._bound.get(name, ())
        return bindings[0].value if len(bindings) == 1 and not isinstance(bindings[0].node, cst.Param) else None

    def is_value(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is computed in this function, as a loss is, rather than an object with methods."""
        root = path_of(node).partition(".")[0]
        bindings = self._bound.get(root, ())
        return "loss" in path_of(node).lower() or any(isinstance(binding.value, cst.Call) for binding in bindings)

    def grad_owners(self, node: cst.BaseExpression) -> tuple[str, ...]:
        """Where the parameter whose gradient an expression names comes from."""
        return self._loop_owners.get(path_of(node).partition(".")[0], ())

    def escapes_by_receiver(self, base: cst.BaseExpression, call: cst.Call) -> bool:
        """Whether an unknown method may reach a scaler or an optimizer through its receiver."""
        if path_of(base) == "self" or (isinstance(base, cst.Call) and path_of(base.func) == "super"):
            owner = self.program.classes.owner(self._node)
            assert isinstance(call.func, cst.Attribute)
            return owner is not None and not owner.values(call.func.attr.value) and not owner.closed
        return self.roles.of(base).role == "framework"

    def call_into(self, call: cst.Call, at: cst.Call | None = None) -> Flow | None:
        """Enter the graph of the function that a call is known to run; None when it is not known."""
        found = self.program.callee(call, self._node)
        if found is None:
            return None
        flow = Flow()
        for arg in call.args:
            flow |= self.flow(arg.value)
        target = self.temporary(at or call)
        binding = self.program.binding(found, call, self)
        self._events.append(Call(self.site(at or call), found.key, binding, target))
        return Flow((target,), flow.as_argument().args, True)

    # -- expressions -----------------------------------------------------------------------------------------------

    def flow(self, node: cst.CSTNode) -> Flow:
        """Emit the events of an expression in the order in which they happen, and say where its value comes from."""
        if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
            reference = self.ref(node)
            if reference:
                return Flow((reference,))
            inner = self.flow(node.value) if not isinstance(node, cst.Name) else Flow()
            return inner
        if isinstance(node, cst.Call):
            return self.read_call(node)
        if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation)):
            parts = (node.left, node.right) if isinstance(node, cst.BinaryOperation) else (node.expression,)
            return self._union(parts) | Flow(computes=True)
        if isinstance(node, (cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp)):
            return self._comprehension(node)
        if isinstance(node, cst.NamedExpr):
            flow = self.flow(node.value)
            self._assign_target(node.target, flow, node)
            return flow
        if isinstance(node, (cst.Lambda, cst.SimpleString, cst.Integer, cst.Float)):
            return Flow()
        return self._union(list(children(node)))

    def _union(self, nodes: Sequence[cst.CSTNode]) -> Flow:
        flow = Flow()
        for node in nodes:
            flow |= self.flow(node)
        return flow

    def _comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.SetComp | cst.DictComp) -> Flow:
        self.flow(node.for_in.iter)
        before = dict(self._aliases)
        if isinstance(node.for_in.target, cst.Name):
            container = self.ref(node.for_in.iter) if not isinstance(node.for_in.iter, cst.Call) else ""
            if container:
                self._aliases[node.for_in.target.value] = f"{container}[*]"
        flow = self.flow(node.value if isinstance(node, cst.DictComp) else node.elt)
        self._aliases = before
        return flow

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
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
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
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal)):
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
            self._assign_either(node, node.value)
            return
        flow = self.flow(node.value)
        for target in node.targets:
            self._assign_target(target.target, flow, node, node.value)

    def _assign_either(self, node: cst.Assign, value: cst.IfExp) -> None:
        self.flow(value.test)
        sides: list[Seq] = []
        for side in (value.body, value.orelse):
            outer, self._events = self._events, []
            flow = self.flow(side)
            for target in node.targets:
                self._assign_target(target.target, flow, node, side)
            sides.append(Seq(tuple(self._events)))
            self._events = outer
        self._events.append(as_mode_branch(self._conditions.read(value.test), sides[0], sides[1]))

    def _assign_target(
        self, target: cst.CSTNode, flow: Flow, node: cst.CSTNode, value: cst.BaseExpression | None = None
    ) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._assign_target(element.value, flow, node)
        elif isinstance(target, (cst.Name, cst.Attribute, cst.Subscript)):
            reference = self.qualify(path_of(target)) if path_of(target) else ""
            if reference:
                self.emit(Assign(self.site(node), reference, flow.carried, flow.args, flow.computes, self._truth(value)))

    def _truth(self, value: cst.BaseExpression | None) -> bool | None:
        if isinstance(value, cst.Name) and value.value in ("True", "False", "None"):
            return value.value == "True"
        if isinstance(value, cst.Call) and (made := self.roles.made_by(value)) is not None and made.role in _OBJECTS:
            return True
        return None

    def _assign_grad(self, target: cst.BaseExpression, node: cst.Assign) -> None:
        owners = self.grad_owners(target)
        found = set(words(node.value))
        if found == {"None"}:
            self.emit(ZeroGrad(self.site(node), owner=owners[0] if owners else ""))
        elif found & {"clamp", "clip", "clamp_"} and isinstance(node.value, cst.Call):
            self.hand_clip(node.value, owners, node.value.args[-1].value if node.value.args else None)
        else:
            self.flow(node.value)
            self.emit(GradAccess(self.site(node), owners, writes=True))

    def _read_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self._assign_target(node.target, self.flow(node.value), node, node.value)

    def _read_AugAssign(self, node: cst.AugAssign) -> None:
        if is_grad(node.target):
            self.emit(GradAccess(self.site(node), self.grad_owners(node.target), writes=True))
            return
        flow = self.flow(node.value) | self.flow(node.target) | Flow(computes=True)
        self._assign_target(node.target, flow, node)

    def _read_Return(self, node: cst.Return) -> None:
        flow = self.flow(node.value) if node.value is not None else Flow()
        self._events.append(Jump("return", flow.carried, flow.args, flow.computes))

    def _read_Raise(self, node: cst.Raise) -> None:
        self._events.append(Jump("raise"))

    def _read_Break(self, node: cst.Break) -> None:
        self._events.append(Jump("break"))

    def _read_Continue(self, node: cst.Continue) -> None:
        self._events.append(Jump("continue"))

    def _read_Expr(self, node: cst.Expr) -> None:
        self.flow(node.value)
        if isinstance(node.value, cst.Call) and path_of(node.value.func) in _LEAVING:
            self._events.append(Jump("raise"))

    # -- compound statements ---------------------------------------------------------------------------------------

    def _read_If(self, node: cst.If) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        then = self._body(node.body)
        if isinstance(node.orelse, cst.If):
            orelse = self._body([node.orelse])
        else:
            orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        branch = as_mode_branch(condition, then, orelse)
        if asks_for_amp(branch.condition):
            self.program.amp_tests.add(node)
        self._events.append(branch)

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
        targets = list(_target_names(node.target))
        flow = self.flow(node.iter)
        over_objects = self._alias_elements(node)
        owners = tuple(self.qualify(path) for path in self.roles.owners(node.iter))
        for name in targets:
            self._loop_owners[name] = owners or self._loop_owners.get(path_of(node.iter).partition(".")[0].partition("[")[0], ())
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        changed = () if over_objects else tuple(self.qualify(name) for name in targets)
        elements = tuple(Assign(self.site(node), name, flow.carried, flow.args) for name in changed if flow.carried)
        body = self._body(node.body)
        body = Seq((*elements, *body.parts))
        self._events.append(Loop(self.site(node), body, orelse, changed, None, over_objects))
        self._aliases = outer

    def _members(self, node: cst.For) -> list[cst.BaseExpression]:
        """The elements of a short literal collection of objects, over which a loop is unrolled."""
        if not isinstance(node.iter, (cst.List, cst.Tuple)) or not isinstance(node.target, cst.Name):
            return []
        members = [element.value for element in node.iter.elements]
        known = all(self.roles.of(member).role in _OBJECTS and path_of(member) for member in members)
        return members if known and len(members) <= _MAX_UNROLLED else []

    def _alias_elements(self, node: cst.For) -> bool:
        """Whether a loop runs over a collection of optimizers, scalers or schedulers; names its elements after it."""
        found = False
        for target, source in _paired(node.target, node.iter):
            container = self.ref(source)
            roles = {self.roles.of(source).role, self.roles.of(target).role}
            if container and roles & _OBJECTS:
                self._aliases[target.value] = f"{container}[*]"
                self._objects.setdefault(f"{container}[*]", ObjectFacts(sorted(roles & _OBJECTS)[0]))
                found = True
        return found

    def _read_While(self, node: cst.While) -> None:
        self.flow(node.test)
        condition = self._conditions.read(node.test)
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        body = self._body(node.body)
        self._events.append(Loop(self.site(node), body, orelse, (), condition))

    def _read_With(self, node: cst.With) -> None:
        entered: list[tuple[int, object]] = []
        for item in node.items:
            region = self.program.contexts.of(item.item)
            flow = self.flow(item.item)
            if region is not None:
                entered.append((self.site(item), region))
            if item.asname is not None:
                self._assign_target(item.asname.name, Flow(flow.args and ("?",)), item)
        body: Node = self._body(node.body)
        for site, region in reversed(entered):
            body = Scoped(site, region, body)  # type: ignore[arg-type]
        self._events.append(body)

    def _read_Try(self, node: cst.Try) -> None:
        handlers = tuple(self._body(handler.body) for handler in node.handlers)
        orelse = self._body(node.orelse.body) if node.orelse is not None else Seq()
        final = self._body(node.finalbody.body) if node.finalbody is not None else Seq()
        self._events.append(Try(self._body(node.body), handlers, orelse, final))


def _target_names(target: cst.CSTNode) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _target_names(element.value)]
    return []


def _paired(target: cst.BaseExpression, source: cst.BaseExpression) -> list[tuple[cst.Name, cst.BaseExpression]]:
    """Which name of a loop's target takes elements of which collection, through enumerate, zip, values and items."""
    if isinstance(source, cst.Call):
        called = path_of(source.func)
        names = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
        if called == "enumerate" and len(names) == 2 and source.args:
            return _paired(names[1], source.args[0].value)
        if called == "zip" and len(names) == len(source.args):
            return [pair for name, arg in zip(names, source.args) for pair in _paired(name, arg.value)]
        if isinstance(source.func, cst.Attribute) and source.func.attr.value in ("values", "items") and not source.args:
            return _paired(names[-1], source.func.value)
        if called in ("list", "tuple", "reversed") and len(source.args) == 1:
            return _paired(target, source.args[0].value)
        return []
    return [(target, source)] if isinstance(target, cst.Name) else []


def _last_small(body: cst.BaseSuite) -> cst.CSTNode | None:
    if not body.body:
        return None
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        return last.body[-1]
    return last if isinstance(last, cst.BaseSmallStatement) else None
