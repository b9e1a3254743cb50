"""A program without the lines that do nothing but carry the state of a scaler into a checkpoint and back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.roles.step_pairs import StepPair
from amplint.rule import File
from amplint.runtime.statement_parts import last_name
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by


class WithoutStates(ast.NodeTransformer):
    """Takes the lines out that carry the state of a scaler, and keeps the keys of `saved` and `loaded` states.

    Args:
        file: the program.
        pair: the scaler, by its name, and its optimizer.
    """

    def __init__(self, file: File, pair: StepPair) -> None:
        self._name = path_of(pair.scaler).rpartition(".")[2]
        self._given = set(_given(file))
        self._function: ast.AST = ast.Module([], [])
        self._others: set[str] = set()
        self.saved: set[str] = set()
        self.loaded: set[str] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._others = {key for key, value in _elements(node) if not self._is_state(value)}
        return self._in_function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._in_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._in_function(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        kept = [each for each in zip(node.keys, node.values) if not self._saves(_literal(each[0]), each[1])]
        node.keys, node.values = [key for key, _ in kept], [value for _, value in kept]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and self._is_saved_below(target.value, node):
            if self._saves(_literal(target.slice), node.value):
                return None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            owner, method = call.func.value, call.func.attr
            if method == "load_state_dict" and self._is_scaler(owner) and (key := _loaded_key(call)):
                self.loaded.add(key)
                return None
            if method == "update" and self._is_saved_below(owner, node):
                call.keywords = [each for each in call.keywords if not self._saves(each.arg or "", each.value)]
                if not (call.keywords or call.args):
                    return None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_own = not node.orelse and self._asks_for_state(node.test, node.body)
        self._emptied(node)
        return None if is_own and isinstance(node.body[0], ast.Pass) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.args = [each for each in node.args if not self._is_given(each)]
        node.keywords = [each for each in node.keywords if not self._is_given(each.value)]
        return node

    def _in_function(self, node: ast.AST) -> ast.AST:
        around, self._function = self._function, node
        self._emptied(node)
        self._function = around
        return node

    def _emptied(self, node: ast.AST) -> None:
        """Go into a statement; a block of which nothing is left passes."""
        self.generic_visit(node)
        if not getattr(node, "body", None):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]

    def _is_scaler(self, node: ast.expr) -> bool:
        """Whether an expression is the scaler, or a parameter for one."""
        if isinstance(node, ast.Attribute):
            return node.attr == self._name
        if not isinstance(node, ast.Name):
            return False
        of_function = getattr(self._function, "args", None)
        params = {each.arg for each in ast.walk(of_function) if isinstance(each, ast.arg)} if of_function else set()
        return node.id == self._name or (node.id in params and vocabulary.SCALER_ITSELF.search(node.id) is not None)

    def _is_given(self, node: ast.expr) -> bool:
        return self._is_scaler(node) and (node.lineno, node.col_offset) in self._given

    def _is_state(self, node: ast.expr) -> bool:
        """Whether an expression is the state of the scaler, or that if there is one."""
        if isinstance(node, ast.IfExp):
            return self._is_there(node.test) and self._is_state(node.body)
        called = node.func if isinstance(node, ast.Call) and not node.args else None
        return isinstance(called, ast.Attribute) and called.attr == "state_dict" and self._is_scaler(called.value)

    def _is_there(self, test: ast.expr) -> bool:
        """Whether a condition asks whether there is a scaler."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and _is_none(test.comparators[0]):
            return self._is_scaler(test.left)
        return self._is_scaler(test)

    def _asks_for_state(self, test: ast.expr, body: list[ast.stmt]) -> bool:
        """Whether a condition asks whether there is a scaler, or the state that is loaded then."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return all(self._asks_for_state(each, body) for each in test.values)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In):
            calls = [each.value for each in body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
            return _literal(test.left) in {_loaded_key(call) for call in calls} - {""}
        return self._is_there(test)

    def _saves(self, key: str, value: ast.expr) -> bool:
        """Whether an element of a dict is the state of the scaler, under a key of its own."""
        if not key or key in self._others or not self._is_state(value):
            return False
        self.saved.add(key)
        return True

    def _is_saved_below(self, container: ast.expr, statement: ast.stmt) -> bool:
        """Whether something is saved, or handed back, behind a statement."""
        wanted = ast.unparse(container)
        for node in ast.walk(self._function):
            if isinstance(node, (ast.Call, ast.Return)) and node.lineno > statement.lineno:
                given = node.args if isinstance(node, ast.Call) else [node.value] if node.value else []
                if any(ast.unparse(each) == wanted for each in given):
                    if isinstance(node, ast.Return) or vocabulary.SAVES.search(last_name(node.func)):
                        return True
        return False


def _given(file: File) -> Iterator[tuple[int, int]]:
    """Where arguments stand that a function takes by a parameter for a scaler."""
    for call in file.tree.find(cst.Call):
        callee = (
            file.callees.of(call) if any(file.roles.of(each.value).role == "scaler" for each in call.args) else None
        )
        if callee is None:
            continue
        for param in callee.node.params.params:
            given = given_by(call, callee.node, param.name.value)
            if given is not None and vocabulary.SCALER_ITSELF.search(param.name.value):
                start = file.range(given).start
                yield start.row, start.column - 1


def _elements(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The elements that are put into dicts, with literal keys."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from ((_literal(key), value) for key, value in zip(node.keys, node.values))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield _literal(node.targets[0].slice), node.value
        elif isinstance(node, ast.Call) and last_name(node.func) in ("dict", "update"):
            yield from ((each.arg or "", each.value) for each in node.keywords)


def _loaded_key(call: ast.Call) -> str:
    """The key of what a call takes out of a dict (`call(holder["key"])`, `call(holder.get("key"))`); empty for anything else."""
    given = call.args[0] if len(call.args) == 1 else None
    if isinstance(given, ast.Subscript):
        return _literal(given.slice)
    if isinstance(given, ast.Call) and last_name(given.func) == "get" and given.args:
        return _literal(given.args[0])
    return ""


def _literal(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
