"""The texts and classes that calls give to functions: in what `build("dice", Block)` returns, `kind` is "dice"."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from amplint.callgraph.bound_names import Function
from amplint.callgraph.definitions import Scope
from amplint.callgraph.parameters import is_assigned, parameter_names

_KEPT = frozenset({"lower", "upper", "title", "capitalize", "strip"})
"""Methods of texts that are worked out."""


class GivenTexts:
    """Knows which texts and classes the parameters of the functions hold that are being followed."""

    def __init__(self) -> None:
        self._given: dict[Function, Mapping[str, ast.expr]] = {}

    @contextmanager
    def given_by(self, call: ast.Call, function: Function | ast.ClassDef, beside: bool) -> Iterator[bool]:
        """Know what a call gives a function, as long as what that returns is followed; gives whether a text is among it.

        Args:
            call: the call.
            function: the function.
            beside: whether both stand in one file, where the names of classes mean the same to both.
        """
        if isinstance(function, ast.ClassDef):
            yield False
            return
        before = self._given.get(function)
        self._given[function] = given = dict(_told(call, function, beside))
        try:
            yield any(isinstance(each, ast.Constant) for each in given.values())
        finally:
            self._given[function] = before if before is not None else {}

    def filled(self, value: ast.expr, scope: Scope) -> ast.expr:
        """An expression with the texts and the names of classes in the place of the parameters that hold them.

        Args:
            value: the expression.
            scope: the function that it stands in.
        """
        given = self._given.get(scope) if scope is not None else None
        if not given or not any(isinstance(each, ast.Name) and each.id in given for each in ast.walk(value)):
            return value
        filled: ast.expr = _Filling(given).visit(copy.deepcopy(value))
        return filled


def _told(call: ast.Call, function: Function, beside: bool) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that a call gives a text, or leaves at one, and those that it gives a class, by its name."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return
    ordered = [*function.args.posonlyargs, *function.args.args]
    defaults = [*zip(reversed(ordered), reversed(function.args.defaults))]
    given = {each.arg: value for each, value in defaults}
    given.update(zip(parameter_names(function), call.args))
    given.update((each.arg, each.value) for each in call.keywords if each.arg is not None)
    for name, value in given.items():
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        is_class = beside and isinstance(value, ast.Name) and value.id[:1].isupper()
        if (is_text or is_class) and not is_assigned(function, name):
            yield name, value


class _Filling(ast.NodeTransformer):
    """Puts texts in the place of names, and works out what is made of nothing but texts."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(copy.copy(self._given[node.id]), node) if node.id in self._given else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=str(one)), op=ast.Add(), right=ast.Constant(value=str(other))):
                return ast.copy_location(ast.Constant(one + other), node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
        texts = [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return ast.copy_location(ast.Constant("".join(texts)), node) if len(texts) == len(parts) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr=method), args=[], keywords=[]):
                if method in _KEPT:
                    return ast.copy_location(ast.Constant(getattr(text, method)()), node)
        return node
