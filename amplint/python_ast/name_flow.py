"""Runs over the statements of a scope in their order, and notes which names are bound on every path to each."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from amplint.python_ast.bound_names import Bound, NameRecord, ProgramPoint, UnboundUse, meet
from amplint.python_ast.scopes import Function, Scope, bindings, exported, imported_names, names_in_type, parameters

_LEAVE = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


class NameFlow(ast.NodeVisitor):
    """Runs over the statements of one scope in their order, and knows what is bound at each.

    Args:
        record: what the run notes, in all scopes of a file.
        scope: the scope whose statements are run over.
        bound: the names that are bound before the first of them.
    """

    def __init__(self, record: NameRecord, scope: Scope, bound: Bound) -> None:
        self._record = record
        self._scope = scope
        self._bound = bound
        self._block = 0
        self._breaks: list[list[Bound]] = []
        self._hidden: Counter[str] = Counter()  # what comprehensions bind for themselves

    def run(self, statements: list[ast.stmt]) -> None:
        """A block."""
        around = self._block
        for statement in statements:
            self._block = id(statements)
            first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
            last = statement.end_lineno or first
            if self._record.with_entries:
                self._record.entries.append(ProgramPoint(first, last, self._scope, self._block, self._bound))
            self.visit(statement)
        self._block = around

    # -- names -----------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind([node.id])
        else:
            self._use(node.id)
            if isinstance(node.ctx, ast.Del) and self._bound is not None:
                self._bound -= {node.id}

    def _bind(self, names: Iterable[str]) -> None:
        if self._bound is not None:
            self._bound |= frozenset(names)

    def _use(self, name: str) -> None:
        if self._bound is None or name in self._bound or self._hidden[name]:
            return
        scope = self._scope
        if name in scope.bound and not scope.is_class or not scope.finds(name):
            self._record.misses.append(UnboundUse(scope.path, self._block, name))
            self._bind([name])

    def _annotation(self, node: ast.expr | None) -> None:
        """Names for a type checker, which asks for no order."""
        for name in names_in_type(node):
            self._expect(name)

    def _expect(self, name: str) -> None:
        """A name that has to be bound anywhere."""
        if not self._scope.finds(name, for_types=True):
            self._record.misses.append(UnboundUse(self._scope.path, self._block, name))

    # -- simple statements -----------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        self._exports(node.targets, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._use(node.target.id)
        self.visit(node.value)
        self.visit(node.target)
        self._exports([node.target], node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._exports([node.target], node.value)
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def _exports(self, targets: list[ast.expr], value: ast.expr) -> None:
        for name in exported(targets, value):
            self._expect(name)

    def visit_Import(self, node: ast.Import) -> None:
        self._bind(imported_names(node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._bind(imported_names(node))

    def visit_Expr(self, node: ast.Expr) -> None:
        self.visit(node.value)
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _LEAVE:
            self._bound = None

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        self._bound = None

    def visit_Raise(self, node: ast.Raise) -> None:
        self.generic_visit(node)
        self._bound = None

    def visit_Continue(self, node: ast.Continue) -> None:
        self._bound = None

    def visit_Break(self, node: ast.Break) -> None:
        if self._breaks:
            self._breaks[-1].append(self._bound)
        self._bound = None

    # -- branches --------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        start = self._bound
        self.run(node.body)
        after, self._bound = self._bound, start
        self.run(node.orelse)
        self._bound = meet(after, self._bound)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self._loop(node, self._bound)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node, None if forever else self._bound)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, skipped: Bound) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.target)
        self._breaks.append([])
        self.run(node.body)
        left = self._breaks.pop()
        self._bound = skipped
        self.run(node.orelse)
        for each in left:
            self._bound = meet(self._bound, each)

    def visit_Try(self, node: ast.Try) -> None:
        start = self._bound
        self.run(node.body)
        self.run(node.orelse)
        after = self._bound
        for handler in node.handlers:
            self._bound = start
            self.visit(handler)
            after = meet(after, self._bound)
        self._bound = start
        self.run(node.finalbody)
        gained = self._bound - start if self._bound is not None and start is not None else frozenset[str]()
        ends = node.finalbody and self._bound is None
        self._bound = None if ends or after is None else after | gained

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        self._bind(filter(None, [node.name]))
        self.run(node.body)
        if self._bound is not None:
            self._bound -= {node.name or ""}

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item)
        self.run(node.body)

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        start = self._bound
        after = None if any(map(_takes_all, node.cases)) else start
        for case in node.cases:
            self._bound = start
            self._bind(bindings([case.pattern]))
            self.visit(case.pattern)
            if case.guard is not None:
                self.visit(case.guard)
            self.run(case.body)
            after = meet(after, self._bound)
        self._bound = after

    # -- scopes of their own ---------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Function) -> None:
        for each in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(each)
        own = _own(node)
        self._body(node.name, {*own, *bindings(node.body)}, own, node, node.body)
        for argument in parameters(node.args):
            self._annotation(argument.annotation)
        self._annotation(node.returns)
        self._bind([node.name])

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(each)
        own = _own(node)
        self._body(node.name, {*own, *bindings(node.body)}, own, node, node.body, is_class=True)
        self._bind([node.name])

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for each in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(each)
        own = _own(node)
        self._body("<lambda>", own, own, None, [ast.copy_location(ast.Expr(node.body), node.body)])

    def _body(
        self, name: str, bound: set[str], own: set[str], node: ast.AST | None, body: list[ast.stmt], *,
        is_class: bool = False,
    ) -> None:  # fmt: skip
        bound |= {each for each, count in self._hidden.items() if count}
        scope = self._scope.inside(name, bound, node, is_class)
        self._record.anywhere |= scope.bound
        NameFlow(self._record, scope, frozenset(own) | {each for each, count in self._hidden.items() if count}).run(
            body
        )

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        names: list[str] = []
        for generator in node.generators:
            self.visit(generator.iter)
            names.extend(bindings([generator.target]))
            self._hidden.update(bindings([generator.target]))
            for test in generator.ifs:
                self.visit(test)
        for result in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.visit(result)
        self._hidden.subtract(names)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp


def _own(node: Function | ast.ClassDef | ast.Lambda) -> set[str]:
    """What a definition binds before its body runs."""
    typed = {each.name for each in getattr(node, "type_params", ())}
    return typed if isinstance(node, ast.ClassDef) else typed | {each.arg for each in parameters(node.args)}


def _takes_all(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
